var e=(e,t,n)=>{let r=navigator.locks;if(r===void 0||typeof BroadcastChannel>`u`)return;let i=`narratoria-${e}`,a=new BroadcastChannel(i);a.onmessage=e=>n(e.data);let o=new AbortController,s=new Promise(e=>o.signal.addEventListener(`abort`,()=>e())),c=()=>{if(!o.signal.aborted)return t(`leader`),s};return(async()=>{let e=!1;await r.request(i,{ifAvailable:!0},t=>(e=t!==null,e?c():void 0)),e||o.signal.aborted||(t(`follower`),await r.request(i,{signal:o.signal},c))})().catch(()=>void 0),{send:e=>a.postMessage(e),leave(){a.close(),o.abort()}}},t=`narratoria-arrivals`;function n(){if(typeof BroadcastChannel>`u`)return;let e=new BroadcastChannel(t);e.postMessage(``),e.close()}function r(e){if(typeof BroadcastChannel>`u`)return()=>{};let n=new BroadcastChannel(t);return n.onmessage=e,()=>n.close()}var i=`#token=`,a=`narratoria-token`,o;function s(){if(!location.hash.startsWith(i))return;let e=location.hash.slice(7);return history.replaceState(history.state,``,location.pathname),e===``?void 0:e}function c(e){if(o=e??o,o!==void 0)try{sessionStorage.setItem(a,o)}catch{}}function l(){try{return o??sessionStorage.getItem(a)??void 0}catch{return o}}async function u(e,t){try{let n=await fetch(`/api/enter`,{method:`POST`,headers:{"Content-Type":`application/json`},body:JSON.stringify({token:e,again:t})});if(!n.ok)return{status:n.status};let{reading:r}=await n.json();return{status:n.status,reading:r}}catch{return{status:0}}}async function d(){let e=l();return e===void 0||(await u(e,!0)).status!==200?!1:(c(e),!0)}c(s()??l()),sessionStorage.removeItem(`narratoria-tried`),n(),addEventListener(`pagehide`,()=>c(void 0)),addEventListener(`hashchange`,()=>{let e=s();e!==void 0&&(c(e),location.reload())});var f=globalThis,p=f.ShadowRoot&&(f.ShadyCSS===void 0||f.ShadyCSS.nativeShadow)&&`adoptedStyleSheets`in Document.prototype&&`replace`in CSSStyleSheet.prototype,m=Symbol(),ee=new WeakMap,te=class{constructor(e,t,n){if(this._$cssResult$=!0,n!==m)throw Error("CSSResult is not constructable. Use `unsafeCSS` or `css` instead.");this.cssText=e,this.t=t}get styleSheet(){let e=this.o,t=this.t;if(p&&e===void 0){let n=t!==void 0&&t.length===1;n&&(e=ee.get(t)),e===void 0&&((this.o=e=new CSSStyleSheet).replaceSync(this.cssText),n&&ee.set(t,e))}return e}toString(){return this.cssText}},ne=e=>new te(typeof e==`string`?e:e+``,void 0,m),h=(e,...t)=>new te(e.length===1?e[0]:t.reduce((t,n,r)=>t+(e=>{if(!0===e._$cssResult$)return e.cssText;if(typeof e==`number`)return e;throw Error(`Value passed to 'css' function must be a 'css' function result: `+e+`. Use 'unsafeCSS' to pass non-literal values, but take care to ensure page security.`)})(n)+e[r+1],e[0]),e,m),re=(e,t)=>{if(p)e.adoptedStyleSheets=t.map(e=>e instanceof CSSStyleSheet?e:e.styleSheet);else for(let n of t){let t=document.createElement(`style`),r=f.litNonce;r!==void 0&&t.setAttribute(`nonce`,r),t.textContent=n.cssText,e.appendChild(t)}},ie=p?e=>e:e=>e instanceof CSSStyleSheet?(e=>{let t=``;for(let n of e.cssRules)t+=n.cssText;return ne(t)})(e):e,{is:ae,defineProperty:oe,getOwnPropertyDescriptor:g,getOwnPropertyNames:_,getOwnPropertySymbols:se,getPrototypeOf:ce}=Object,le=globalThis,ue=le.trustedTypes,de=ue?ue.emptyScript:``,fe=le.reactiveElementPolyfillSupport,pe=(e,t)=>e,me={toAttribute(e,t){switch(t){case Boolean:e=e?de:null;break;case Object:case Array:e=e==null?e:JSON.stringify(e)}return e},fromAttribute(e,t){let n=e;switch(t){case Boolean:n=e!==null;break;case Number:n=e===null?null:Number(e);break;case Object:case Array:try{n=JSON.parse(e)}catch{n=null}}return n}},he=(e,t)=>!ae(e,t),ge={attribute:!0,type:String,converter:me,reflect:!1,useDefault:!1,hasChanged:he};Symbol.metadata??=Symbol(`metadata`),le.litPropertyMetadata??=new WeakMap;var _e=class extends HTMLElement{static addInitializer(e){this._$Ei(),(this.l??=[]).push(e)}static get observedAttributes(){return this.finalize(),this._$Eh&&[...this._$Eh.keys()]}static createProperty(e,t=ge){if(t.state&&(t.attribute=!1),this._$Ei(),this.prototype.hasOwnProperty(e)&&((t=Object.create(t)).wrapped=!0),this.elementProperties.set(e,t),!t.noAccessor){let n=Symbol(),r=this.getPropertyDescriptor(e,n,t);r!==void 0&&oe(this.prototype,e,r)}}static getPropertyDescriptor(e,t,n){let{get:r,set:i}=g(this.prototype,e)??{get(){return this[t]},set(e){this[t]=e}};return{get:r,set(t){let a=r?.call(this);i?.call(this,t),this.requestUpdate(e,a,n)},configurable:!0,enumerable:!0}}static getPropertyOptions(e){return this.elementProperties.get(e)??ge}static _$Ei(){if(this.hasOwnProperty(pe(`elementProperties`)))return;let e=ce(this);e.finalize(),e.l!==void 0&&(this.l=[...e.l]),this.elementProperties=new Map(e.elementProperties)}static finalize(){if(this.hasOwnProperty(pe(`finalized`)))return;if(this.finalized=!0,this._$Ei(),this.hasOwnProperty(pe(`properties`))){let e=this.properties,t=[..._(e),...se(e)];for(let n of t)this.createProperty(n,e[n])}let e=this[Symbol.metadata];if(e!==null){let t=litPropertyMetadata.get(e);if(t!==void 0)for(let[e,n]of t)this.elementProperties.set(e,n)}this._$Eh=new Map;for(let[e,t]of this.elementProperties){let n=this._$Eu(e,t);n!==void 0&&this._$Eh.set(n,e)}this.elementStyles=this.finalizeStyles(this.styles)}static finalizeStyles(e){let t=[];if(Array.isArray(e)){let n=new Set(e.flat(1/0).reverse());for(let e of n)t.unshift(ie(e))}else e!==void 0&&t.push(ie(e));return t}static _$Eu(e,t){let n=t.attribute;return!1===n?void 0:typeof n==`string`?n:typeof e==`string`?e.toLowerCase():void 0}constructor(){super(),this._$Ep=void 0,this.isUpdatePending=!1,this.hasUpdated=!1,this._$Em=null,this._$Ev()}_$Ev(){this._$ES=new Promise(e=>this.enableUpdating=e),this._$AL=new Map,this._$E_(),this.requestUpdate(),this.constructor.l?.forEach(e=>e(this))}addController(e){(this._$EO??=new Set).add(e),this.renderRoot!==void 0&&this.isConnected&&e.hostConnected?.()}removeController(e){this._$EO?.delete(e)}_$E_(){let e=new Map,t=this.constructor.elementProperties;for(let n of t.keys())this.hasOwnProperty(n)&&(e.set(n,this[n]),delete this[n]);e.size>0&&(this._$Ep=e)}createRenderRoot(){let e=this.shadowRoot??this.attachShadow(this.constructor.shadowRootOptions);return re(e,this.constructor.elementStyles),e}connectedCallback(){this.renderRoot??=this.createRenderRoot(),this.enableUpdating(!0),this._$EO?.forEach(e=>e.hostConnected?.())}enableUpdating(e){}disconnectedCallback(){this._$EO?.forEach(e=>e.hostDisconnected?.())}attributeChangedCallback(e,t,n){this._$AK(e,n)}_$ET(e,t){let n=this.constructor.elementProperties.get(e),r=this.constructor._$Eu(e,n);if(r!==void 0&&!0===n.reflect){let i=(n.converter?.toAttribute===void 0?me:n.converter).toAttribute(t,n.type);this._$Em=e,i==null?this.removeAttribute(r):this.setAttribute(r,i),this._$Em=null}}_$AK(e,t){let n=this.constructor,r=n._$Eh.get(e);if(r!==void 0&&this._$Em!==r){let e=n.getPropertyOptions(r),i=typeof e.converter==`function`?{fromAttribute:e.converter}:e.converter?.fromAttribute===void 0?me:e.converter;this._$Em=r;let a=i.fromAttribute(t,e.type);this[r]=a??this._$Ej?.get(r)??a,this._$Em=null}}requestUpdate(e,t,n,r=!1,i){if(e!==void 0){let a=this.constructor;if(!1===r&&(i=this[e]),n??=a.getPropertyOptions(e),!((n.hasChanged??he)(i,t)||n.useDefault&&n.reflect&&i===this._$Ej?.get(e)&&!this.hasAttribute(a._$Eu(e,n))))return;this.C(e,t,n)}!1===this.isUpdatePending&&(this._$ES=this._$EP())}C(e,t,{useDefault:n,reflect:r,wrapped:i},a){n&&!(this._$Ej??=new Map).has(e)&&(this._$Ej.set(e,a??t??this[e]),!0!==i||a!==void 0)||(this._$AL.has(e)||(this.hasUpdated||n||(t=void 0),this._$AL.set(e,t)),!0===r&&this._$Em!==e&&(this._$Eq??=new Set).add(e))}async _$EP(){this.isUpdatePending=!0;try{await this._$ES}catch(e){Promise.reject(e)}let e=this.scheduleUpdate();return e!=null&&await e,!this.isUpdatePending}scheduleUpdate(){return this.performUpdate()}performUpdate(){if(!this.isUpdatePending)return;if(!this.hasUpdated){if(this.renderRoot??=this.createRenderRoot(),this._$Ep){for(let[e,t]of this._$Ep)this[e]=t;this._$Ep=void 0}let e=this.constructor.elementProperties;if(e.size>0)for(let[t,n]of e){let{wrapped:e}=n,r=this[t];!0!==e||this._$AL.has(t)||r===void 0||this.C(t,void 0,n,r)}}let e=!1,t=this._$AL;try{e=this.shouldUpdate(t),e?(this.willUpdate(t),this._$EO?.forEach(e=>e.hostUpdate?.()),this.update(t)):this._$EM()}catch(t){throw e=!1,this._$EM(),t}e&&this._$AE(t)}willUpdate(e){}_$AE(e){this._$EO?.forEach(e=>e.hostUpdated?.()),this.hasUpdated||(this.hasUpdated=!0,this.firstUpdated(e)),this.updated(e)}_$EM(){this._$AL=new Map,this.isUpdatePending=!1}get updateComplete(){return this.getUpdateComplete()}getUpdateComplete(){return this._$ES}shouldUpdate(e){return!0}update(e){this._$Eq&&=this._$Eq.forEach(e=>this._$ET(e,this[e])),this._$EM()}updated(e){}firstUpdated(e){}};_e.elementStyles=[],_e.shadowRootOptions={mode:`open`},_e[pe(`elementProperties`)]=new Map,_e[pe(`finalized`)]=new Map,fe?.({ReactiveElement:_e}),(le.reactiveElementVersions??=[]).push(`2.1.2`);var ve=globalThis,ye=e=>e,be=ve.trustedTypes,xe=be?be.createPolicy(`lit-html`,{createHTML:e=>e}):void 0,Se=`$lit$`,Ce=`lit$${Math.random().toFixed(9).slice(2)}$`,we=`?`+Ce,Te=`<${we}>`,Ee=document,De=()=>Ee.createComment(``),Oe=e=>e===null||typeof e!=`object`&&typeof e!=`function`,ke=Array.isArray,Ae=e=>ke(e)||typeof e?.[Symbol.iterator]==`function`,je=`[ 	
\f\r]`,Me=/<(?:(!--|\/[^a-zA-Z])|(\/?[a-zA-Z][^>\s]*)|(\/?$))/g,Ne=/-->/g,Pe=/>/g,Fe=RegExp(`>|${je}(?:([^\\s"'>=/]+)(${je}*=${je}*(?:[^ \t\n\f\r"'\`<>=]|("|')|))|$)`,`g`),Ie=/'/g,Le=/"/g,Re=/^(?:script|style|textarea|title)$/i,ze=e=>(t,...n)=>({_$litType$:e,strings:t,values:n}),v=ze(1),Be=ze(2),y=Symbol.for(`lit-noChange`),b=Symbol.for(`lit-nothing`),Ve=new WeakMap,He=Ee.createTreeWalker(Ee,129);function Ue(e,t){if(!ke(e)||!e.hasOwnProperty(`raw`))throw Error(`invalid template strings array`);return xe===void 0?t:xe.createHTML(t)}var We=(e,t)=>{let n=e.length-1,r=[],i,a=t===2?`<svg>`:t===3?`<math>`:``,o=Me;for(let t=0;t<n;t++){let n=e[t],s,c,l=-1,u=0;for(;u<n.length&&(o.lastIndex=u,c=o.exec(n),c!==null);)u=o.lastIndex,o===Me?c[1]===`!--`?o=Ne:c[1]===void 0?c[2]===void 0?c[3]!==void 0&&(o=Fe):(Re.test(c[2])&&(i=RegExp(`</`+c[2],`g`)),o=Fe):o=Pe:o===Fe?c[0]===`>`?(o=i??Me,l=-1):c[1]===void 0?l=-2:(l=o.lastIndex-c[2].length,s=c[1],o=c[3]===void 0?Fe:c[3]===`"`?Le:Ie):o===Le||o===Ie?o=Fe:o===Ne||o===Pe?o=Me:(o=Fe,i=void 0);let d=o===Fe&&e[t+1].startsWith(`/>`)?` `:``;a+=o===Me?n+Te:l>=0?(r.push(s),n.slice(0,l)+Se+n.slice(l)+Ce+d):n+Ce+(l===-2?t:d)}return[Ue(e,a+(e[n]||`<?>`)+(t===2?`</svg>`:t===3?`</math>`:``)),r]},Ge=class e{constructor({strings:t,_$litType$:n},r){let i;this.parts=[];let a=0,o=0,s=t.length-1,c=this.parts,[l,u]=We(t,n);if(this.el=e.createElement(l,r),He.currentNode=this.el.content,n===2||n===3){let e=this.el.content.firstChild;e.replaceWith(...e.childNodes)}for(;(i=He.nextNode())!==null&&c.length<s;){if(i.nodeType===1){if(i.hasAttributes())for(let e of i.getAttributeNames())if(e.endsWith(Se)){let t=u[o++],n=i.getAttribute(e).split(Ce),r=/([.?@])?(.*)/.exec(t);c.push({type:1,index:a,name:r[2],strings:n,ctor:r[1]===`.`?Xe:r[1]===`?`?Ze:r[1]===`@`?Qe:Ye}),i.removeAttribute(e)}else e.startsWith(Ce)&&(c.push({type:6,index:a}),i.removeAttribute(e));if(Re.test(i.tagName)){let e=i.textContent.split(Ce),t=e.length-1;if(t>0){i.textContent=be?be.emptyScript:``;for(let n=0;n<t;n++)i.append(e[n],De()),He.nextNode(),c.push({type:2,index:++a});i.append(e[t],De())}}}else if(i.nodeType===8){if(i.data===we)c.push({type:2,index:a});else{let e=-1;for(;(e=i.data.indexOf(Ce,e+1))!==-1;)c.push({type:7,index:a}),e+=Ce.length-1}}a++}}static createElement(e,t){let n=Ee.createElement(`template`);return n.innerHTML=e,n}};function Ke(e,t,n=e,r){if(t===y)return t;let i=r===void 0?n._$Cl:n._$Co?.[r],a=Oe(t)?void 0:t._$litDirective$;return i?.constructor!==a&&(i?._$AO?.(!1),a===void 0?i=void 0:(i=new a(e),i._$AT(e,n,r)),r===void 0?n._$Cl=i:(n._$Co??=[])[r]=i),i!==void 0&&(t=Ke(e,i._$AS(e,t.values),i,r)),t}var qe=class{constructor(e,t){this._$AV=[],this._$AN=void 0,this._$AD=e,this._$AM=t}get parentNode(){return this._$AM.parentNode}get _$AU(){return this._$AM._$AU}u(e){let{el:{content:t},parts:n}=this._$AD,r=(e?.creationScope??Ee).importNode(t,!0);He.currentNode=r;let i=He.nextNode(),a=0,o=0,s=n[0];for(;s!==void 0;){if(a===s.index){let t;s.type===2?t=new Je(i,i.nextSibling,this,e):s.type===1?t=new s.ctor(i,s.name,s.strings,this,e):s.type===6&&(t=new $e(i,this,e)),this._$AV.push(t),s=n[++o]}a!==s?.index&&(i=He.nextNode(),a++)}return He.currentNode=Ee,r}p(e){let t=0;for(let n of this._$AV)n!==void 0&&(n.strings===void 0?n._$AI(e[t]):(n._$AI(e,n,t),t+=n.strings.length-2)),t++}},Je=class e{get _$AU(){return this._$AM?._$AU??this._$Cv}constructor(e,t,n,r){this.type=2,this._$AH=b,this._$AN=void 0,this._$AA=e,this._$AB=t,this._$AM=n,this.options=r,this._$Cv=r?.isConnected??!0}get parentNode(){let e=this._$AA.parentNode,t=this._$AM;return t!==void 0&&e?.nodeType===11&&(e=t.parentNode),e}get startNode(){return this._$AA}get endNode(){return this._$AB}_$AI(e,t=this){e=Ke(this,e,t),Oe(e)?e===b||e==null||e===``?(this._$AH!==b&&this._$AR(),this._$AH=b):e!==this._$AH&&e!==y&&this._(e):e._$litType$===void 0?e.nodeType===void 0?Ae(e)?this.k(e):this._(e):this.T(e):this.$(e)}O(e){return this._$AA.parentNode.insertBefore(e,this._$AB)}T(e){this._$AH!==e&&(this._$AR(),this._$AH=this.O(e))}_(e){this._$AH!==b&&Oe(this._$AH)?this._$AA.nextSibling.data=e:this.T(Ee.createTextNode(e)),this._$AH=e}$(e){let{values:t,_$litType$:n}=e,r=typeof n==`number`?this._$AC(e):(n.el===void 0&&(n.el=Ge.createElement(Ue(n.h,n.h[0]),this.options)),n);if(this._$AH?._$AD===r)this._$AH.p(t);else{let e=new qe(r,this),n=e.u(this.options);e.p(t),this.T(n),this._$AH=e}}_$AC(e){let t=Ve.get(e.strings);return t===void 0&&Ve.set(e.strings,t=new Ge(e)),t}k(t){ke(this._$AH)||(this._$AH=[],this._$AR());let n=this._$AH,r,i=0;for(let a of t)i===n.length?n.push(r=new e(this.O(De()),this.O(De()),this,this.options)):r=n[i],r._$AI(a),i++;i<n.length&&(this._$AR(r&&r._$AB.nextSibling,i),n.length=i)}_$AR(e=this._$AA.nextSibling,t){for(this._$AP?.(!1,!0,t);e!==this._$AB;){let t=ye(e).nextSibling;ye(e).remove(),e=t}}setConnected(e){this._$AM===void 0&&(this._$Cv=e,this._$AP?.(e))}},Ye=class{get tagName(){return this.element.tagName}get _$AU(){return this._$AM._$AU}constructor(e,t,n,r,i){this.type=1,this._$AH=b,this._$AN=void 0,this.element=e,this.name=t,this._$AM=r,this.options=i,n.length>2||n[0]!==``||n[1]!==``?(this._$AH=Array(n.length-1).fill(new String),this.strings=n):this._$AH=b}_$AI(e,t=this,n,r){let i=this.strings,a=!1;if(i===void 0)e=Ke(this,e,t,0),a=!Oe(e)||e!==this._$AH&&e!==y,a&&(this._$AH=e);else{let r=e,o,s;for(e=i[0],o=0;o<i.length-1;o++)s=Ke(this,r[n+o],t,o),s===y&&(s=this._$AH[o]),a||=!Oe(s)||s!==this._$AH[o],s===b?e=b:e!==b&&(e+=(s??``)+i[o+1]),this._$AH[o]=s}a&&!r&&this.j(e)}j(e){e===b?this.element.removeAttribute(this.name):this.element.setAttribute(this.name,e??``)}},Xe=class extends Ye{constructor(){super(...arguments),this.type=3}j(e){this.element[this.name]=e===b?void 0:e}},Ze=class extends Ye{constructor(){super(...arguments),this.type=4}j(e){this.element.toggleAttribute(this.name,!!e&&e!==b)}},Qe=class extends Ye{constructor(e,t,n,r,i){super(e,t,n,r,i),this.type=5}_$AI(e,t=this){if((e=Ke(this,e,t,0)??b)===y)return;let n=this._$AH,r=e===b&&n!==b||e.capture!==n.capture||e.once!==n.once||e.passive!==n.passive,i=e!==b&&(n===b||r);r&&this.element.removeEventListener(this.name,this,n),i&&this.element.addEventListener(this.name,this,e),this._$AH=e}handleEvent(e){typeof this._$AH==`function`?this._$AH.call(this.options?.host??this.element,e):this._$AH.handleEvent(e)}},$e=class{constructor(e,t,n){this.element=e,this.type=6,this._$AN=void 0,this._$AM=t,this.options=n}get _$AU(){return this._$AM._$AU}_$AI(e){Ke(this,e)}},et={M:Se,P:Ce,A:we,C:1,L:We,R:qe,D:Ae,V:Ke,I:Je,H:Ye,N:Ze,U:Qe,B:Xe,F:$e},tt=ve.litHtmlPolyfillSupport;tt?.(Ge,Je),(ve.litHtmlVersions??=[]).push(`3.3.3`);var nt=(e,t,n)=>{let r=n?.renderBefore??t,i=r._$litPart$;if(i===void 0){let e=n?.renderBefore??null;r._$litPart$=i=new Je(t.insertBefore(De(),e),e,void 0,n??{})}return i._$AI(e),i},rt=globalThis,x=class extends _e{constructor(){super(...arguments),this.renderOptions={host:this},this._$Do=void 0}createRenderRoot(){let e=super.createRenderRoot();return this.renderOptions.renderBefore??=e.firstChild,e}update(e){let t=this.render();this.hasUpdated||(this.renderOptions.isConnected=this.isConnected),super.update(e),this._$Do=nt(t,this.renderRoot,this.renderOptions)}connectedCallback(){super.connectedCallback(),this._$Do?.setConnected(!0)}disconnectedCallback(){super.disconnectedCallback(),this._$Do?.setConnected(!1)}render(){return y}};x._$litElement$=!0,x.finalized=!0,rt.litElementHydrateSupport?.({LitElement:x});var it=rt.litElementPolyfillSupport;it?.({LitElement:x}),(rt.litElementVersions??=[]).push(`4.2.2`);var S=e=>(t,n)=>{n===void 0?customElements.define(e,t):n.addInitializer(()=>{customElements.define(e,t)})},at={attribute:!0,type:String,converter:me,reflect:!1,hasChanged:he},ot=(e=at,t,n)=>{let{kind:r,metadata:i}=n,a=globalThis.litPropertyMetadata.get(i);if(a===void 0&&globalThis.litPropertyMetadata.set(i,a=new Map),r===`setter`&&((e=Object.create(e)).wrapped=!0),a.set(n.name,e),r===`accessor`){let{name:r}=n;return{set(n){let i=t.get.call(this);t.set.call(this,n),this.requestUpdate(r,i,e,!0,n)},init(t){return t!==void 0&&this.C(r,void 0,e,t),t}}}if(r===`setter`){let{name:r}=n;return function(n){let i=this[r];t.call(this,n),this.requestUpdate(r,i,e,!0,n)}}throw Error(`Unsupported decorator location: `+r)};function C(e){return(t,n)=>typeof n==`object`?ot(e,t,n):((e,t,n)=>{let r=t.hasOwnProperty(n);return t.constructor.createProperty(n,e),r?Object.getOwnPropertyDescriptor(t,n):void 0})(e,t,n)}function w(e){return C({...e,state:!0,attribute:!1})}var st=(e,t,n)=>(n.configurable=!0,n.enumerable=!0,Reflect.decorate&&typeof t!=`object`&&Object.defineProperty(e,t,n),n);function ct(e,t){return(n,r,i)=>{let a=t=>t.renderRoot?.querySelector(e)??null;if(t){let{get:e,set:t}=typeof r==`object`?n:i??(()=>{let e=Symbol();return{get(){return this[e]},set(t){this[e]=t}}})();return st(n,r,{get(){let n=e.call(this);return n===void 0&&(n=a(this),(n!==null||this.hasUpdated)&&t.call(this,n)),n}})}return st(n,r,{get(){return a(this)}})}}function lt(e){return(t,n)=>{let{slot:r,selector:i}=e??{},a=`slot`+(r?`[name=${r}]`:`:not([name])`);return st(t,n,{get(){let t=(this.renderRoot?.querySelector(a))?.assignedElements(e)??[];return i===void 0?t:t.filter(e=>e.matches(i))}})}}var ut={ATTRIBUTE:1,CHILD:2,PROPERTY:3,BOOLEAN_ATTRIBUTE:4,EVENT:5,ELEMENT:6},dt=e=>(...t)=>({_$litDirective$:e,values:t}),ft=class{constructor(e){}get _$AU(){return this._$AM._$AU}_$AT(e,t,n){this._$Ct=e,this._$AM=t,this._$Ci=n}_$AS(e,t){return this.update(e,t)}update(e,t){return this.render(...t)}},pt={},mt=dt(class extends ft{constructor(){super(...arguments),this.ot=pt}render(e,t){return t()}update(e,[t,n]){if(Array.isArray(t)){if(Array.isArray(this.ot)&&this.ot.length===t.length&&t.every((e,t)=>e===this.ot[t]))return y}else if(this.ot===t)return y;return this.ot=Array.isArray(t)?Array.from(t):t,this.render(t,n)}}),{I:ht}=et,gt=e=>e,_t=e=>e===null||typeof e!=`object`&&typeof e!=`function`,vt=e=>e.strings===void 0,yt=()=>document.createComment(``),bt=(e,t,n)=>{let r=e._$AA.parentNode,i=t===void 0?e._$AB:t._$AA;if(n===void 0)n=new ht(r.insertBefore(yt(),i),r.insertBefore(yt(),i),e,e.options);else{let t=n._$AB.nextSibling,a=n._$AM,o=a!==e;if(o){let t;n._$AQ?.(e),n._$AM=e,n._$AP!==void 0&&(t=e._$AU)!==a._$AU&&n._$AP(t)}if(t!==i||o){let e=n._$AA;for(;e!==t;){let t=gt(e).nextSibling;gt(r).insertBefore(e,i),e=t}}}return n},xt=(e,t,n=e)=>(e._$AI(t,n),e),St={},Ct=(e,t=St)=>e._$AH=t,wt=e=>e._$AH,Tt=e=>{e._$AR(),e._$AA.remove()},Et=(e,t,n)=>{let r=new Map;for(let i=t;i<=n;i++)r.set(e[i],i);return r},T=dt(class extends ft{constructor(e){if(super(e),e.type!==ut.CHILD)throw Error(`repeat() can only be used in text expressions`)}dt(e,t,n){let r;n===void 0?n=t:t!==void 0&&(r=t);let i=[],a=[],o=0;for(let t of e)i[o]=r?r(t,o):o,a[o]=n(t,o),o++;return{values:a,keys:i}}render(e,t,n){return this.dt(e,t,n).values}update(e,[t,n,r]){let i=wt(e),{values:a,keys:o}=this.dt(t,n,r);if(!Array.isArray(i))return this.ut=o,a;let s=this.ut??=[],c=[],l,u,d=0,f=i.length-1,p=0,m=a.length-1;for(;d<=f&&p<=m;)if(i[d]===null)d++;else if(i[f]===null)f--;else if(s[d]===o[p])c[p]=xt(i[d],a[p]),d++,p++;else if(s[f]===o[m])c[m]=xt(i[f],a[m]),f--,m--;else if(s[d]===o[m])c[m]=xt(i[d],a[m]),bt(e,c[m+1],i[d]),d++,m--;else if(s[f]===o[p])c[p]=xt(i[f],a[p]),bt(e,i[d],i[f]),f--,p++;else if(l===void 0&&(l=Et(o,p,m),u=Et(s,d,f)),l.has(s[d])){if(l.has(s[f])){let t=u.get(o[p]),n=t===void 0?null:i[t];if(n===null){let t=bt(e,i[d]);xt(t,a[p]),c[p]=t}else c[p]=xt(n,a[p]),bt(e,i[d],n),i[t]=null;p++}else Tt(i[f]),f--}else Tt(i[d]),d++;for(;p<=m;){let t=bt(e,c[m+1]);xt(t,a[p]),c[p++]=t}for(;d<=f;){let e=i[d++];e!==null&&Tt(e)}return this.ut=o,Ct(e,c),y}}),Dt=class extends ft{#e=new Set;constructor(e){if(super(e),e.type!==ut.ATTRIBUTE||e.name!==`style`)throw Error(`styleMap is for style attributes`)}render(e){return y}update(e,[t]){let n=e.element.style;for(let e of this.#e)t[e]??n.removeProperty(Ot(e));this.#e.clear();for(let[e,r]of Object.entries(t)){if(r==null)continue;this.#e.add(e);let[t,i]=String(r).split(/\s*!\s*/);n.setProperty(Ot(e),t??``,i??``)}return y}};function Ot(e){return e.includes(`-`)?e:e.replace(/[A-Z]/g,e=>`-${e.toLowerCase()}`)}var E=dt(Dt),kt={add:`M19 13h-6v6h-2v-6H5v-2h6V5h2v6h6v2z`,assets:`M20 4v12H8V4h12m0-2H8c-1.1 0-2 .9-2 2v12c0 1.1.9 2 2 2h12c1.1 0 2-.9 2-2V4c0-1.1-.9-2-2-2zm-8.5 9.67 1.69 2.26 2.48-3.1L19 15H9zM2 6v14c0 1.1.9 2 2 2h14v-2H4V6H2z`,back:`M20 11H7.83l5.59-5.59L12 4l-8 8 8 8 1.41-1.41L7.83 13H20v-2z`,block:`M12 2C6.48 2 2 6.48 2 12s4.48 10 10 10 10-4.48 10-10S17.52 2 12 2zM4 12c0-4.42 3.58-8 8-8 1.85 0 3.55.63 4.9 1.69L5.69 16.9A7.9 7.9 0 0 1 4 12zm8 8c-1.85 0-3.55-.63-4.9-1.69L18.31 7.1A7.9 7.9 0 0 1 20 12c0 4.42-3.58 8-8 8z`,book:`M22.47 5.2c-.47-.24-.96-.44-1.47-.61v12.03c-1.14-.41-2.31-.62-3.5-.62-1.9 0-3.78.54-5.5 1.58V5.48C10.38 4.55 8.51 4 6.5 4c-1.79 0-3.48.44-4.97 1.2-.33.16-.53.51-.53.88v12.08c0 .58.47.99 1 .99.16 0 .32-.04.48-.12C3.69 18.4 5.05 18 6.5 18c2.07 0 3.98.82 5.5 2 1.52-1.18 3.43-2 5.5-2 1.45 0 2.81.4 4.02 1.04.16.08.32.12.48.12.52 0 1-.41 1-.99V6.08c0-.37-.2-.72-.53-.88zM10 16.62C8.86 16.21 7.69 16 6.5 16s-2.36.21-3.5.62V6.71C4.11 6.24 5.28 6 6.5 6c1.2 0 2.39.25 3.5.72v9.9zM19 .5l-5 5V15l5-4.5V.5z`,broken:`M21 5v6.59l-3-3.01-4 4.01-4-4-4 4-3-3.01V5c0-1.1.9-2 2-2h14c1.1 0 2 .9 2 2zm-3 6.42l3 3.01V19c0 1.1-.9 2-2 2H5c-1.1 0-2-.9-2-2v-6.58l3 2.99 4-4 4 4 4-3.99z`,check:`M12 2C6.48 2 2 6.48 2 12s4.48 10 10 10 10-4.48 10-10S17.52 2 12 2zm-2 15l-5-5 1.41-1.41L10 14.17l7.59-7.59L19 8l-9 9z`,close:`M19 6.41L17.59 5 12 10.59 6.41 5 5 6.41 10.59 12 5 17.59 6.41 19 12 13.41 17.59 19 19 17.59 13.41 12z`,copy:`M16 1H4c-1.1 0-2 .9-2 2v14h2V3h12V1zm3 4H8c-1.1 0-2 .9-2 2v14c0 1.1.9 2 2 2h11c1.1 0 2-.9 2-2V7c0-1.1-.9-2-2-2zm0 16H8V7h11v14z`,dot:`M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8z`,down:`M20 12l-1.41-1.41L13 16.17V4h-2v12.17l-5.58-5.59L4 12l8 8 8-8z`,download:`M19 9h-4V3H9v6H5l7 7 7-7zM5 18v2h14v-2H5z`,letters:`M2.5 4v3h5v12h3V7h5V4h-13zm19 5h-9v3h3v7h3v-7h3V9z`,error:`M12 2C6.48 2 2 6.48 2 12s4.48 10 10 10 10-4.48 10-10S17.52 2 12 2zm1 15h-2v-2h2v2zm0-4h-2V7h2v6z`,file:`M6 2c-1.1 0-1.99.9-1.99 2L4 20c0 1.1.89 2 1.99 2H18c1.1 0 2-.9 2-2V8l-6-6H6zm7 7V3.5L18.5 9H13z`,fit:`M7 14H5v5h5v-2H7v-3zm-2-4h2V7h3V5H5v5zm12 7h-3v2h5v-5h-2v3zM14 5v2h3v3h2V5h-5z`,hourglass:`M6 2v6h.01L6 8.01 10 12l-4 4 .01.01H6V22h12v-5.99h-.01L18 16l-4-4 4-3.99-.01-.01H18V2H6zm10 14.5V20H8v-3.5l4-4 4 4zm-4-5l-4-4V4h8v3.5l-4 4z`,image:`M21 19V5c0-1.1-.9-2-2-2H5c-1.1 0-2 .9-2 2v14c0 1.1.9 2 2 2h14c1.1 0 2-.9 2-2zM8.5 13.5l2.5 3.01L14.5 12l4.5 6H5l3.5-4.5z`,info:`M12 2C6.48 2 2 6.48 2 12s4.48 10 10 10 10-4.48 10-10S17.52 2 12 2zm1 15h-2v-6h2v6zm0-8h-2V7h2v2z`,left:`M15.41 7.41L14 6l-6 6 6 6 1.41-1.41L10.83 12z`,model:`M12 2L3 7v10l9 5 9-5V7l-9-5zm0 2.3L18.5 8 12 11.6 5.5 8 12 4.3zM5 9.7l6 3.4v6.6l-6-3.3V9.7zm8 10v-6.6l6-3.4v6.7l-6 3.3z`,movie:`M18 4l2 4h-3l-2-4h-2l2 4h-3l-2-4H8l2 4H7L5 4H4c-1.1 0-1.99.9-1.99 2L2 18c0 1.1.9 2 2 2h16c1.1 0 2-.9 2-2V4h-4z`,music:`M12 3v10.55A4 4 0 1 0 14 17V7h4V3h-6z`,pending:`M11.99 2C6.47 2 2 6.48 2 12s4.47 10 9.99 10C17.52 22 22 17.52 22 12S17.52 2 11.99 2zM12 20c-4.42 0-8-3.58-8-8s3.58-8 8-8 8 3.58 8 8-3.58 8-8 8zm.5-13H11v6l5.25 3.15.75-1.23-4.5-2.67z`,remove:`M19 13H5v-2h14v2z`,retry:`M17.65 6.35A7.96 7.96 0 0 0 12 4c-4.42 0-7.99 3.58-7.99 8s3.57 8 7.99 8c3.73 0 6.84-2.55 7.73-6h-2.08A5.99 5.99 0 0 1 12 18c-3.31 0-6-2.69-6-6s2.69-6 6-6c1.66 0 3.14.69 4.22 1.78L13 11h7V4l-2.35 2.35z`,right:`M10 6L8.59 7.41 13.17 12l-4.58 4.59L10 18l6-6z`,search:`M15.5 14h-.79l-.28-.27A6.47 6.47 0 0 0 16 9.5 6.5 6.5 0 1 0 9.5 16c1.61 0 3.09-.59 4.23-1.57l.27.28v.79l5 4.99L20.49 19l-4.99-5zm-6 0C7.01 14 5 11.99 5 9.5S7.01 5 9.5 5 14 7.01 14 9.5 11.99 14 9.5 14z`,send:`M2.01 21 23 12 2.01 3 2 10l15 2-15 2z`,skip:`M7 11v2h10v-2H7zm5-9C6.48 2 2 6.48 2 12s4.48 10 10 10 10-4.48 10-10S17.52 2 12 2zm0 18c-4.41 0-8-3.59-8-8s3.59-8 8-8 8 3.59 8 8-3.59 8-8 8z`,stop:`M6 6h12v12H6z`,text:`M14 2H6c-1.1 0-1.99.9-1.99 2L4 20c0 1.1.89 2 1.99 2H18c1.1 0 2-.9 2-2V8l-6-6zm2 16H8v-2h8v2zm0-4H8v-2h8v2zm-3-5V3.5L18.5 9H13z`,tick:`M9 16.17 4.83 12l-1.42 1.41L9 19 21 7l-1.41-1.41z`,tools:`m13.783 15.172 2.121-2.121 5.996 5.996-2.121 2.121zM17.5 10c1.93 0 3.5-1.57 3.5-3.5 0-.58-.16-1.12-.41-1.6l-2.7 2.7-1.49-1.49 2.7-2.7c-.48-.25-1.02-.41-1.6-.41C15.57 3 14 4.57 14 6.5c0 .41.08.8.21 1.16l-1.85 1.85-1.78-1.78.71-.71-1.41-1.41L12 3.49a3 3 0 0 0-4.24 0L4.22 7.03l1.41 1.41H2.81l-.71.71 3.54 3.54.71-.71V9.15l1.41 1.41.71-.71 1.78 1.78-7.41 7.41 2.12 2.12L16.34 9.79c.36.13.75.21 1.16.21z`,tree:`M22 11V3h-7v3H9V3H2v8h7V8h2v10h4v3h7v-8h-7v3h-2V8h2v3h7zM7 9H4V5h3v4zm10 6h3v4h-3v-4zm0-10h3v4h-3V5z`,unfoldLess:`M7.41 18.59L8.83 20 12 16.83 15.17 20l1.41-1.41L12 14l-4.59 4.59zm9.18-13.18L15.17 4 12 7.17 8.83 4 7.41 5.41 12 10l4.59-4.59z`,unfoldMore:`M12 5.83L15.17 9l1.41-1.41L12 3 7.41 7.59 8.83 9 12 5.83zm0 12.34L8.83 15l-1.41 1.41L12 21l4.59-4.59L15.17 15 12 18.17z`,up:`M4 12l1.41 1.41L11 7.83V20h2V7.83l5.58 5.59L20 12l-8-8-8 8z`,warning:`M1 21h22L12 2 1 21zm12-3h-2v-2h2v2zm0-4h-2v-4h2v4z`};function D(e){return e===`running`?v`<svg class="icon spinner" viewBox="0 0 24 24" aria-hidden="true">
      ${Be`<circle cx="12" cy="12" r="8.5" fill="none" stroke="currentColor" stroke-opacity="0.28" stroke-width="3"></circle>
      <path d="M12 3.5a8.5 8.5 0 0 1 8.5 8.5" fill="none" stroke="currentColor" stroke-width="3" stroke-linecap="round"></path>`}
    </svg>`:v`<svg class="icon" viewBox="0 0 24 24" aria-hidden="true">${Be`<path d=${kt[e]}></path>`}</svg>`}function At(e,t,n){return v`<div class="empty">
    ${D(e)}
    <h1>${t}</h1>
    <p>${n}</p>
  </div>`}function O(e,t,n,r){var i=arguments.length,a=i<3?t:r===null?r=Object.getOwnPropertyDescriptor(t,n):r,o;if(typeof Reflect==`object`&&typeof Reflect.decorate==`function`)a=Reflect.decorate(e,t,n,r);else for(var s=e.length-1;s>=0;s--)(o=e[s])&&(a=(i<3?o(a):i>3?o(t,n,a):o(t,n))||a);return i>3&&a&&Object.defineProperty(t,n,a),a}var jt=class extends x{constructor(...e){super(...e),this.session=void 0,this.path=[],this.#t=!1}#e;#t;#n;connectedCallback(){super.connectedCallback(),this.#n=new ResizeObserver(()=>this.resized()),this.#n.observe(this),this.#i()}disconnectedCallback(){super.disconnectedCallback(),this.#n?.disconnect(),this.#e?.(),this.#e=void 0}willUpdate(e){e.has(`session`)&&this.#i()}resized(){this.#t&&(this.#t=!1,this.requestUpdate())}#r(){this.isConnected&&this.getClientRects().length>0?this.requestUpdate():this.#t=!0}#i(){this.#e?.(),this.#e=this.isConnected?this.session?.subscribe(()=>this.#r()):void 0,this.requestUpdate()}};O([C({attribute:!1})],jt.prototype,`session`,void 0),O([C({attribute:!1})],jt.prototype,`path`,void 0);var Mt=h`
  *,
  *::before,
  *::after {
    box-sizing: border-box;
  }

  [hidden] {
    display: none !important;
  }

  /* Only for screen readers. */
  .unseen {
    position: absolute;
    width: 1px;
    height: 1px;
    margin: -1px;
    overflow: hidden;
    clip-path: inset(50%);
    white-space: nowrap;
  }
`,k=[Mt,h`
    :focus-visible,
    mdui-button[focus-visible],
    mdui-button-icon[focus-visible] {
      outline: 0.1875rem solid rgb(var(--mdui-color-primary));
      outline-offset: 0.125rem;
    }

    a {
      color: rgb(var(--mdui-color-primary));
    }

    .icon {
      display: block;
      flex: none;
      width: 1em;
      height: 1em;
      fill: currentColor;
    }

    /* mdui's buttons have a fixed height; a label may need several lines. */
    mdui-button {
      height: auto;
      min-height: 2.5rem;
      max-width: 100%;
      border-radius: 1.25rem;
    }

    mdui-button::part(button) {
      height: auto;
      min-height: 2.5rem;
      padding-block: 0.5rem;
      white-space: normal;
    }

    mdui-button::part(label) {
      min-width: 0;
      overflow-wrap: anywhere;
    }

    @media (forced-colors: active) {
      mdui-button,
      mdui-button-icon {
        border: 0.0625rem solid ButtonBorder;
      }
    }
  `],A=[Mt,h`
  :host {
    display: block;
    box-sizing: border-box;
    color: rgb(var(--mdui-color-on-surface));
    font: 400 0.875rem/1.43 var(--font-page, system-ui, sans-serif);
    --good: light-dark(#1a6b3c, #86d6a0);
    --good-container: light-dark(#c6efd2, #16402a);
    --caution: light-dark(#7a5600, #f0c15f);
    --caution-container: light-dark(#ffe2a8, #4a3608);
    --bad: rgb(var(--mdui-color-error));
    --quiet: rgb(var(--mdui-color-on-surface-variant));
    --line: rgb(var(--mdui-color-outline-variant));
    --accent: rgb(var(--mdui-color-primary));
    --code: var(--font-code, ui-monospace, monospace);
  }
  h1,
  h2,
  h3,
  p,
  ul,
  ol,
  dl,
  dd,
  figure,
  pre {
    margin: 0;
    padding: 0;
  }
  h1,
  h2,
  h3 {
    font-weight: 500;
  }
  ul,
  ol {
    list-style: none;
  }
  :focus-visible {
    outline: 2px solid var(--accent);
    outline-offset: 2px;
  }
  a {
    color: var(--accent);
    text-underline-offset: 0.2em;
  }
  .icon {
    width: 1.25em;
    height: 1.25em;
    fill: currentColor;
    flex: none;
    display: block;
  }
  .spinner {
    animation: spin 1.1s linear infinite;
  }
  @keyframes spin {
    to {
      transform: rotate(1turn);
    }
  }
  .clipped {
    overflow: hidden;
    text-overflow: ellipsis;
    white-space: nowrap;
    min-width: 0;
  }
  .number {
    font-variant-numeric: tabular-nums;
  }
  button {
    font: inherit;
    color: inherit;
    background: none;
    border: 0;
    padding: 0;
    cursor: pointer;
  }
  button:disabled {
    opacity: 0.38;
    cursor: default;
  }
  .button {
    display: inline-flex;
    align-items: center;
    justify-content: center;
    gap: 0.5rem;
    min-height: 2.25rem;
    padding: 0 1rem;
    border-radius: 1.125rem;
    font-weight: 500;
    text-decoration: none;
    color: rgb(var(--mdui-color-on-secondary-container));
    background: rgb(var(--mdui-color-secondary-container));
    transition: box-shadow 120ms;
  }
  .button.plain {
    color: var(--accent);
    background: none;
    padding: 0 0.75rem;
  }
  .icon-button {
    display: inline-grid;
    place-items: center;
    width: 2.5rem;
    height: 2.5rem;
    border-radius: 50%;
    color: var(--quiet);
    font-size: 1.05rem;
    flex: none;
  }
  .button:not(:disabled):hover,
  .icon-button:not(:disabled):hover,
  .chip[aria-pressed]:hover {
    box-shadow: inset 0 0 0 100vmax rgba(var(--mdui-color-on-surface), 0.08);
  }
  .chip {
    display: inline-flex;
    align-items: center;
    gap: 0.375rem;
    max-width: 100%;
    min-height: 1.75rem;
    padding: 0 0.625rem;
    border-radius: 0.5rem;
    border: 1px solid var(--line);
    color: var(--quiet);
    font-size: 0.8125rem;
    font-weight: 500;
    line-height: 1.2;
    text-decoration: none;
  }
  button.chip {
    min-height: 2rem;
  }
  .chip[aria-pressed="true"] {
    border-color: transparent;
  }
  .chip[aria-pressed="true"],
  .segments button[aria-pressed="true"] {
    color: rgb(var(--mdui-color-on-secondary-container));
    background: rgb(var(--mdui-color-secondary-container));
  }
  .chips {
    display: flex;
    flex-wrap: wrap;
    gap: 0.5rem;
    align-items: center;
  }
  /* Buttons of which one is pressed, side by side. */
  .segments {
    display: inline-flex;
    border: 1px solid rgb(var(--mdui-color-outline));
    border-radius: 1.125rem;
    overflow: hidden;
  }
  .segments button {
    min-height: 2.125rem;
    padding: 0 0.75rem;
  }
  .segments button + button {
    border-inline-start: 1px solid rgb(var(--mdui-color-outline));
  }
  .segments button:focus-visible {
    outline-offset: -3px;
  }
  .completed {
    --tone: var(--good);
    --tone-container: var(--good-container);
  }
  .running,
  .retrying {
    --tone: var(--accent);
    --tone-container: rgb(var(--mdui-color-primary-container));
  }
  .retrying,
  .mixed,
  .warn {
    --tone: var(--caution);
    --tone-container: var(--caution-container);
  }
  .failed,
  .timeout,
  .error,
  .refused {
    --tone: var(--bad);
    --tone-container: rgb(var(--mdui-color-error-container));
  }
  .pending,
  .skipped,
  .stopped,
  .narrated,
  .debug,
  .info {
    --tone: var(--quiet);
    --tone-container: rgb(var(--mdui-color-surface-container-highest));
  }
  .tone {
    color: var(--tone);
  }
  .chip.tone {
    border-color: currentColor;
  }
  .card {
    border-radius: 1rem;
    background: rgb(var(--mdui-color-surface-container-low));
    border: 1px solid rgba(var(--mdui-color-outline-variant), 0.5);
  }
  .empty {
    display: grid;
    place-items: center;
    align-content: center;
    gap: 0.75rem;
    min-height: 16rem;
    padding: 2rem;
    text-align: center;
    color: var(--quiet);
    font-size: 1rem;
  }
  .empty h1 {
    font-size: 1.25rem;
    color: rgb(var(--mdui-color-on-surface));
  }
  .empty p {
    max-width: 26rem;
  }
  .empty .icon {
    width: 3rem;
    height: 3rem;
    color: rgb(var(--mdui-color-outline));
  }
  code,
  pre,
  .code {
    font-family: var(--code);
    font-size: 0.8125rem;
  }
  @media (prefers-reduced-motion: reduce) {
    *,
    *::before,
    *::after {
      animation-duration: 0.01ms !important;
      animation-iteration-count: 1 !important;
      transition-duration: 0.01ms !important;
      scroll-behavior: auto !important;
    }
  }
  @media (forced-colors: active) {
    :host {
      --good: CanvasText;
      --good-container: Canvas;
      --caution: CanvasText;
      --caution-container: Canvas;
      --bad: CanvasText;
      --quiet: CanvasText;
      --line: CanvasText;
      --accent: LinkText;
    }
    .button,
    .chip,
    .icon-button,
    .card {
      border: 1px solid ButtonBorder;
    }
    [aria-pressed="true"],
    [aria-selected="true"],
    .turn[aria-current] {
      background: Highlight !important;
      color: HighlightText !important;
      forced-color-adjust: none;
    }
  }
`],Nt=200;function Pt(e,t,n){let r=t+n;if(r>=e.length)return e.length;let i=e.slice(Math.max(t,r-Nt),r),a=Math.max(i.lastIndexOf(`
`),i.lastIndexOf(` `));return a>0?r-i.length+a+1:Ft(e.charCodeAt(r-1))?Math.max(t+1,r-1):r}function j(e,t){return e.length<=t?e:`${e.slice(0,Pt(e,0,t)).trimEnd()}…`}function M(e,t,n=`${t}s`){return`${e.toLocaleString(`en`)} ${e===1?t:n}`}function Ft(e){return e>=55296&&e<=56319}function It(e){return e<1e3?M(e,`byte`):e<1e6?`${(e/1e3).toFixed(+(e<1e4))} kB`:e<1e9?`${(e/1e6).toFixed(1)} MB`:`${(e/1e9).toFixed(1)} GB`}function Lt(e){return`${Math.round(e*100)} %`}var Rt=(e,t)=>{let n=e._$AN;if(n===void 0)return!1;for(let e of n)e._$AO?.(t,!1),Rt(e,t);return!0},zt=e=>{let t,n;do{if((t=e._$AM)===void 0)break;n=t._$AN,n.delete(e),e=t}while(n?.size===0)},Bt=e=>{for(let t;t=e._$AM;e=t){let n=t._$AN;if(n===void 0)t._$AN=n=new Set;else if(n.has(e))break;n.add(e),Ut(t)}};function Vt(e){this._$AN===void 0?this._$AM=e:(zt(this),this._$AM=e,Bt(this))}function Ht(e,t=!1,n=0){let r=this._$AH,i=this._$AN;if(i!==void 0&&i.size!==0){if(t){if(Array.isArray(r))for(let e=n;e<r.length;e++)Rt(r[e],!1),zt(r[e]);else r!=null&&(Rt(r,!1),zt(r))}else Rt(this,e)}}var Ut=e=>{e.type==ut.CHILD&&(e._$AP??=Ht,e._$AQ??=Vt)},Wt=class extends ft{constructor(){super(...arguments),this._$AN=void 0}_$AT(e,t,n){super._$AT(e,t,n),Bt(this),this.isConnected=e._$AU}_$AO(e,t=!0){e!==this.isConnected&&(this.isConnected=e,e?this.reconnected?.():this.disconnected?.()),t&&(Rt(this,e),zt(this))}setValue(e){if(vt(this._$Ct))this._$Ct._$AI(e,this);else{let t=[...this._$Ct._$AH];t[this._$Ci]=e,this._$Ct._$AI(t,this,0)}}disconnected(){}reconnected(){}},Gt=()=>new Kt,Kt=class{},qt=new WeakMap,Jt=dt(class extends Wt{render(e){return b}update(e,[t]){let n=t!==this.G;return n&&this.rt(void 0),(n||this.lt!==this.ct)&&(this.G=t,this.ht=e.options?.host,this.rt(this.ct=e.element)),b}rt(e){if(this.G!==void 0){if(this.isConnected||(e=void 0),typeof this.G==`function`){let t=this.ht??globalThis,n=qt.get(t);n===void 0&&(n=new WeakMap,qt.set(t,n)),n.get(this.G)!==void 0&&this.G.call(this.ht,void 0),n.set(this.G,e),e!==void 0&&this.G.call(this.ht,e)}else this.G.value=e}}get lt(){return typeof this.G==`function`?qt.get(this.ht??globalThis)?.get(this.G):this.G?.value}disconnected(){this.lt===this.ct&&this.rt(void 0)}reconnected(){this.rt(this.ct)}}),Yt=8e6;function Xt(e,t,n){let r=e*t,i=Math.min(r,Yt),a=Qt(r,n),o=Math.floor(a/t),s=Math.ceil(240/t),c=Math.max(0,Math.min(o-s,e)),l=Math.min(e,Math.ceil((a+n.height)/t)+s);return{first:c,last:Math.max(c,l),top:c*t-a+n.scrollTop,height:i}}function Zt(e,t,n,r){let i=t*n,a=Qt(i,r),o=e*n,s=a;if(o<a?s=o:o+n>a+r.height&&(s=o+n-r.height),s!==a)return i<=8e6?s:s*$t(Yt,r)/$t(i,r)}function Qt(e,t){let n=Math.max(0,t.scrollTop);return e<=8e6?Math.min(n,Math.max(0,e-t.height)):Math.min(1,n/$t(Yt,t))*$t(e,t)}function $t(e,t){return Math.max(1,e-t.height)}var en=600,tn=class{#e;#t;#n;#r;#i;#a;#o;constructor(e){this.host=e,this.count=0,this.rowHeight=32,this.follows=!1,this.scroller=Gt(),this.#e=new ResizeObserver(()=>this.#c()),this.#n=0,this.#r={scrollTop:0,height:600},this.#i=``,this.#a=-1/0,this.#o=()=>{this.#a=performance.now()},this.onScroll=()=>{if(this.scroller.value!==void 0){if(performance.now()-this.#a<en){let e=this.follows;this.follows=this.follows?this.isAtEnd:this.follows,e!==this.follows&&this.host.requestUpdate()}this.#u()}},e.addController(this)}get rows(){return Xt(this.count,this.rowHeight,this.#r)}get isAtEnd(){let e=this.scroller.value;return e===void 0||e.scrollTop+e.clientHeight>=e.scrollHeight-this.rowHeight}draw(e){return this.drawTogether((t,n)=>{let r=[];for(let i=t;i<n;++i)r.push(e(i));return r})}drawTogether(e){let{first:t,last:n,top:r,height:i}=this.rows;this.#i=`${t}-${n}-${r}`;let a=e(t,n);return v`<div class="rows-space" role="presentation" style=${E({height:`${i}px`})}>
      <div class="rows" role="presentation" style=${E({transform:`translateY(${r}px)`})}>${a}</div>
    </div>`}get attach(){return Jt(this.scroller)}reveal(e){if(this.scroller.value===void 0)return;this.#l();let t=Zt(e,this.count,this.rowHeight,this.#r);t!==void 0&&this.#s(t)}toEnd(){let e=this.scroller.value;e!==void 0&&this.#s(e.scrollHeight)}hostUpdated(){let e=this.scroller.value;if(e!==this.#t){if(this.#e.disconnect(),e!==void 0){e.style.overflowAnchor=`none`;for(let t of[`wheel`,`touchmove`,`pointerdown`,`keydown`])e.addEventListener(t,this.#o,{passive:!0});this.#e.observe(e),e.firstElementChild!==null&&this.#e.observe(e.firstElementChild)}this.#t=e}e!==void 0&&this.#n===0&&(this.#n=requestAnimationFrame(()=>{this.#n=0,this.#c()}))}hostDisconnected(){cancelAnimationFrame(this.#n),this.#n=0,this.#e.disconnect(),this.#t=void 0}#s(e){let t=this.scroller.value;t.scrollTop=e,this.#u()}#c(){this.follows&&!this.isAtEnd?this.toEnd():this.#u()}#l(){let e=this.scroller.value;if(e===void 0)return;let t=e.clientHeight,n=this.follows?Math.max(0,this.rows.height-t):e.scrollTop;this.#r={scrollTop:n,height:t}}#u(){this.#l();let{first:e,last:t,top:n}=this.rows;`${e}-${t}-${n}`!==this.#i&&this.host.requestUpdate()}};function N(e){return e*(Number.parseFloat(getComputedStyle(document.documentElement).fontSize)||16)}var nn=[`narrative`,`tools`,`assets`,`state`];function rn(e){let[t=``,...n]=e.replace(/^#?\/?/,``).split(`/`),r=nn.find(e=>e===t)??`narrative`;return{place:r,path:r===t?n.filter(e=>e!==``).map(sn):[]}}function an(e){return encodeURIComponent(e)}function on(e){location.hash=e}function sn(e){try{return decodeURIComponent(e)}catch{return e}}function P(e){return typeof e==`object`&&!!e&&!Array.isArray(e)}function cn(e){return P(e)&&typeof e.seq==`number`&&typeof e.kind==`string`&&P(e.event)}function F(e,t){return Object.hasOwn(e,t)?e[t]:void 0}function I(e,t){let n=F(e,t);return typeof n==`string`?n:void 0}function L(e,t){let n=F(e,t);return typeof n==`number`&&Number.isFinite(n)?n:void 0}function ln(e,t){let n=F(e,t);return typeof n==`boolean`?n:void 0}function R(e,t){let n=F(e,t);return P(n)?n:void 0}function un(e,t){let n=F(e,t);return Array.isArray(n)?n.filter(e=>typeof e==`string`):[]}function dn(e,t){let n=F(e,t);return Array.isArray(n)?n.filter(P):[]}function fn(e){let t=Date.parse(e.time);return Number.isNaN(t)?0:t}function pn(e,t){let n=[],r=t,i=e=>(n.push(e.length>r?gn(e,r):e),r-=e.length,r>=0),a=(e,t)=>{if(typeof e==`string`)return i(mn(e,r));if(!Array.isArray(e)&&!P(e))return i(String(e));let[n,o]=Array.isArray(e)?[`[`,`]`]:[`{`,`}`],s=e,c=Object.keys(s);if(c.length===0)return i(n+o);if(!i(n))return!1;let l=t+`  `;for(let[t,n]of c.entries()){let o=Array.isArray(e)?``:`${mn(n,r)}: `;if(!i(`${t>0?`,`:``}\n${l}${o}`)||!a(s[n],l))return!1}return i(`\n${t}${o}`)},o=a(e,``);return{text:n.join(``),complete:o}}function mn(e,t){return hn(JSON.stringify(e.length>t?gn(e,t+1):e))}function hn(e){return e.replace(/[\u202a-\u202e\u2066-\u2069]/g,e=>`\\u${e.charCodeAt(0).toString(16).padStart(4,`0`).toUpperCase()}`)}function gn(e,t){let n=Math.max(0,t),r=e.charCodeAt(n-1);return e.slice(0,r>=55296&&r<=56319&&n<e.length?n-1:n)}function _n(e,t){let{text:n,complete:r}=pn(e,t);return n.replace(/\s*\n\s*/g,` `)+(r?``:`…`)}function z(e,t,n,r){var i=arguments.length,a=i<3?t:r===null?r=Object.getOwnPropertyDescriptor(t,n):r,o;if(typeof Reflect==`object`&&typeof Reflect.decorate==`function`)a=Reflect.decorate(e,t,n,r);else for(var s=e.length-1;s>=0;s--)(o=e[s])&&(a=(i<3?o(a):i>3?o(t,n,a):o(t,n))||a);return i>3&&a&&Object.defineProperty(t,n,a),a}var B=e=>e!==null&&e.toLowerCase()!==`false`,vn=v`${b}`,yn=class extends ft{constructor(e){if(super(e),this.it=b,e.type!==ut.CHILD)throw Error(this.constructor.directiveName+`() can only be used in child bindings`)}render(e){if(e===b||e==null)return this._t=void 0,this.it=e;if(e===y)return e;if(typeof e!=`string`)throw Error(this.constructor.directiveName+`() called with a non-string value`);if(e===this.it)return this._t;this.it=e;let t=[e];return t.raw=t,this._t={_$litType$:this.constructor.resultType,strings:t,values:[]}}};yn.directiveName=`unsafeHTML`,yn.resultType=1;var bn=class extends yn{};bn.directiveName=`unsafeSVG`,bn.resultType=2;var xn=dt(bn),Sn=class{constructor(e){this.G=e}disconnect(){this.G=void 0}reconnect(e){this.G=e}deref(){return this.G}},Cn=class{constructor(){this.Y=void 0,this.Z=void 0}get(){return this.Y}pause(){this.Y??=new Promise(e=>this.Z=e)}resume(){this.Z?.(),this.Y=this.Z=void 0}},wn=e=>!_t(e)&&typeof e.then==`function`,Tn=1073741823,En=dt(class extends Wt{constructor(){super(...arguments),this._$Cwt=Tn,this._$Cbt=[],this._$CK=new Sn(this),this._$CX=new Cn}render(...e){return e.find(e=>!wn(e))??y}update(e,t){let n=this._$Cbt,r=n.length;this._$Cbt=t;let i=this._$CK,a=this._$CX;this.isConnected||this.disconnected();for(let e=0;e<t.length&&!(e>this._$Cwt);e++){let o=t[e];if(!wn(o))return this._$Cwt=e,o;e<r&&o===n[e]||(this._$Cwt=Tn,r=0,Promise.resolve(o).then(async e=>{for(;a.get();)await a.get();let t=i.deref();if(t!==void 0){let n=t._$Cbt.indexOf(o);n>-1&&n<t._$Cwt&&(t._$Cwt=n,t.setValue(e))}}))}return y}disconnected(){this._$CK.disconnect(),this._$CX.pause()}reconnected(){this._$CK.reconnect(this),this._$CX.resume()}});function Dn(e){return typeof e==`object`&&!!e&&`constructor`in e&&e.constructor===Object}function On(e={},t={}){let n=[`__proto__`,`constructor`,`prototype`];Object.keys(t).filter(e=>n.indexOf(e)<0).forEach(n=>{e[n]===void 0?e[n]=t[n]:Dn(t[n])&&Dn(e[n])&&Object.keys(t[n]).length>0&&On(e[n],t[n])})}var kn={body:{},addEventListener(){},removeEventListener(){},activeElement:{blur(){},nodeName:``},querySelector(){return null},querySelectorAll(){return[]},getElementById(){return null},createEvent(){return{initEvent(){}}},createElement(){return{children:[],childNodes:[],style:{},setAttribute(){},getElementsByTagName(){return[]}}},createElementNS(){return{}},importNode(){return null},location:{hash:``,host:``,hostname:``,href:``,origin:``,pathname:``,protocol:``,search:``}};function An(){let e=typeof document<`u`?document:{};return On(e,kn),e}var jn={document:kn,navigator:{userAgent:``},location:{hash:``,host:``,hostname:``,href:``,origin:``,pathname:``,protocol:``,search:``},history:{replaceState(){},pushState(){},go(){},back(){}},CustomEvent:function(){return this},addEventListener(){},removeEventListener(){},getComputedStyle(){return{getPropertyValue(){return``}}},Image(){},Date(){},screen:{},setTimeout(){},clearTimeout(){},matchMedia(){return{}},requestAnimationFrame(e){return typeof setTimeout>`u`?(e(),null):setTimeout(e,0)},cancelAnimationFrame(e){typeof setTimeout<`u`&&clearTimeout(e)}};function Mn(){let e=typeof window<`u`?window:{};return On(e,jn),e}var Nn=(e,t)=>e?.nodeName.toLowerCase()===t.toLowerCase(),V=e=>typeof e==`function`,Pn=e=>typeof e==`string`,Fn=e=>typeof e==`number`,In=e=>typeof e==`boolean`,Ln=e=>e===void 0,Rn=e=>e===null,zn=e=>typeof Window<`u`&&e instanceof Window,Bn=e=>typeof Document<`u`&&e instanceof Document,Vn=e=>typeof Element<`u`&&e instanceof Element,Hn=e=>typeof Node<`u`&&e instanceof Node,Un=e=>!V(e)&&!zn(e)&&Fn(e.length),Wn=e=>typeof e==`object`&&!!e,Gn=e=>Bn(e)?e.documentElement:e,Kn=e=>e.replace(/-([a-z])/g,(e,t)=>t.toUpperCase()),qn=e=>e&&e.replace(/^./,e[0].toLowerCase()).replace(/[A-Z]/g,e=>`-`+e.toLowerCase()),Jn=()=>!1,H=(e,t)=>{for(let n=0;n<e.length;n+=1)if(t.call(e[n],e[n],n)===!1)return e;return e},U=(e,t)=>{let n=Object.keys(e);for(let r=0;r<n.length;r+=1){let i=n[r];if(t.call(e[i],i,e[i])===!1)return e}return e},W=class{constructor(e){return this.length=0,e&&(H(e,(e,t)=>{this[t]=e}),this.length=e.length),this}},Yn=(e=An())=>/complete|interactive/.test(e.readyState),Xn=e=>An().createElement(e),Zn=(e,t)=>e.appendChild(t),Qn=e=>e.parentNode?e.parentNode.removeChild(e):e,$n=(e,t)=>{let n=Xn(t);return n.innerHTML=e,[].slice.call(n.childNodes)},G=(()=>{let e=function(t){if(!t)return new W;if(t instanceof W)return t;if(V(t)){let n=An();return Yn(n)?t.call(n,e):n.addEventListener(`DOMContentLoaded`,()=>t.call(n,e),{once:!0}),new W([n])}if(Pn(t)){let e=t.trim();if(e.startsWith(`<`)&&e.endsWith(`>`)){let t=`div`;return U({li:`ul`,tr:`tbody`,td:`tr`,th:`tr`,tbody:`table`,option:`select`},(n,r)=>{if(e.startsWith(`<${n}`))return t=r,!1}),new W($n(e,t))}return new W(An().querySelectorAll(t))}return Un(t)&&!Hn(t)?new W(t):new W([t])};return e.fn=W.prototype,e})(),er=(e,t)=>e!==t&&Gn(e).contains(t),tr=(e,t)=>(H(t,t=>{e.push(t)}),e);G.fn.each=function(e){return H(this,(t,n)=>e.call(t,n,t))},G.fn.get=function(e){return e===void 0?[].slice.call(this):this[e>=0?e:e+this.length]},G.fn.find=function(e){let t=[];return this.each((n,r)=>{tr(t,G(r.querySelectorAll(e)).get())}),new W(t)};var nr=Mn().CustomEvent,rr=class extends nr{constructor(e,t){super(e,t),this.data=t.data,this.namespace=t.namespace}},ir=new WeakMap,ar=1,or=e=>(ir.has(e)||ir.set(e,++ar),ir.get(e)),sr=new Map,cr=e=>{let t=or(e);return sr.get(t)||sr.set(t,[]).get(t)},lr=e=>{let t=e.split(`.`);return{type:t[0],namespace:t.slice(1).sort().join(` `)}},ur=e=>RegExp(`(?:^| )`+e.replace(` `,` .* ?`)+`(?: |$)`),dr=(e,t,n,r)=>{let i=lr(t);return cr(e).filter(e=>e&&(!i.type||e.type===i.type)&&(!i.namespace||ur(i.namespace).test(e.namespace))&&(!n||or(e.func)===or(n))&&(!r||e.selector===r))},fr=(e,t,n,r,i)=>{let a=!1;Wn(r)&&r.useCapture&&(a=!0),t.split(` `).forEach(t=>{if(!t)return;let o=lr(t),s=(e,t)=>{n.apply(t,e.detail===null?[e]:[e].concat(e.detail))===!1&&(e.preventDefault(),e.stopPropagation())},c=t=>{(!t.namespace||ur(t.namespace).test(o.namespace))&&(t.data=r,i?G(e).find(i).get().reverse().forEach(e=>{(e===t.target||er(e,t.target))&&s(t,e)}):s(t,e))},l={type:o.type,namespace:o.namespace,func:n,selector:i,id:cr(e).length,proxy:c};cr(e).push(l),e.addEventListener(l.type,c,a)})},pr=(e,t,n,r)=>{let i=cr(e),a=t=>{delete i[t.id],e.removeEventListener(t.type,t.proxy,!1)};t?t.split(` `).forEach(t=>{t&&dr(e,t,n,r).forEach(e=>{a(e)})}):i.forEach(e=>{a(e)})};G.fn.trigger=function(e,t=null,n){let{type:r,namespace:i}=lr(e),a=new rr(r,{detail:t,data:null,namespace:i,bubbles:!0,cancelable:!1,composed:!0,...n});return this.each((e,t)=>{t.dispatchEvent(a)})};function mr(e,...t){return H(t,t=>{U(t,(t,n)=>{Ln(n)||(e[t]=n)})}),e}var hr=`ajaxStart`,gr=`ajaxSuccess`,_r=`ajaxError`,vr=`ajaxComplete`,yr={},br=e=>[`GET`,`HEAD`].includes(e),xr=(e,t)=>`${e}&${t}`.replace(/[&?]{1,2}/,`?`),Sr=e=>{let t=Mn();return/^([\w-]+:)?\/\/([^/]+)/.test(e)&&RegExp.$2!==t.location.host},Cr=e=>e>=200&&e<300||[0,304].includes(e),wr=e=>{let t={url:``,method:`GET`,data:``,processData:!0,async:!0,cache:!0,username:``,password:``,headers:{},xhrFields:{},statusCode:{},dataType:``,contentType:`application/x-www-form-urlencoded`,timeout:0,global:!0};return U(yr,(e,n)=>{![`beforeSend`,`success`,`error`,`complete`,`statusCode`].includes(e)&&!Ln(n)&&(t[e]=n)}),mr({},t,e)},Tr=e=>{if(!Wn(e)&&!Array.isArray(e))return``;let t=[],n=(e,r)=>{let i;Wn(r)?U(r,(t,a)=>{i=Array.isArray(r)&&!Wn(a)?``:t,n(`${e}[${i}]`,a)}):(i=r==null||r===``?`=`:`=${encodeURIComponent(r)}`,t.push(encodeURIComponent(e)+i))};return Array.isArray(e)?H(e,({name:e,value:t})=>n(e,t)):U(e,n),t.join(`&`)},Er=e=>{let t=An(),n=Mn(),r=!1,i={},a={},o=wr(e),s=o.method.toUpperCase(),{data:c,url:l}=o;l||=n.location.toString();let{processData:u,async:d,cache:f,username:p,password:m,headers:ee,xhrFields:te,statusCode:ne,dataType:h,contentType:re,timeout:ie,global:ae}=o,oe=br(s);!c||!oe&&!u||Pn(c)||c instanceof ArrayBuffer||c instanceof Blob||c instanceof Document||c instanceof FormData||(c=Tr(c)),c&&oe&&(l=xr(l,c),c=null);let g=(e,n,...s)=>{ae&&G(t).trigger(e,n===`success`?a:i);let c,l;n in yr&&(c=yr[n](...s)),o[n]&&(l=o[n](...s)),n===`beforeSend`&&[c,l].includes(!1)&&(r=!0)};return(()=>{let e;return new Promise((t,u)=>{let ae=e=>u(Error(e));oe&&!f&&(l=xr(l,`_=${Date.now()}`));let _=new XMLHttpRequest;_.open(s,l,d,p,m),(re||c&&!oe&&re!==!1)&&_.setRequestHeader(`Content-Type`,re),h===`json`&&_.setRequestHeader(`Accept`,`application/json, text/javascript`),U(ee,(e,t)=>{Ln(t)||_.setRequestHeader(e,t+``)}),Sr(l)||_.setRequestHeader(`X-Requested-With`,`XMLHttpRequest`),U(te,(e,t)=>{_[e]=t}),i.xhr=a.xhr=_,i.options=a.options=o;let se;if(_.onload=()=>{se&&clearTimeout(se);let n=Cr(_.status),r;if(n){if(e=_.status===204||s===`HEAD`?`nocontent`:_.status===304?`notmodified`:`success`,h===`json`||!h&&(_.getResponseHeader(`content-type`)||``).includes(`json`)){try{r=s===`HEAD`?void 0:JSON.parse(_.responseText),a.response=r}catch{e=`parsererror`,g(_r,`error`,_,e),ae(e)}e!==`parsererror`&&(g(gr,`success`,r,e,_),t(r))}else r=s===`HEAD`?void 0:_.responseType===`text`||_.responseType===``?_.responseText:_.response,a.response=r,g(gr,`success`,r,e,_),t(r)}else e=`error`,g(_r,`error`,_,e),ae(e);H([yr.statusCode??{},ne],t=>{t[_.status]&&(n?t[_.status](r,e,_):t[_.status](_,e))}),g(vr,`complete`,_,e)},_.onerror=()=>{se&&clearTimeout(se),g(_r,`error`,_,_.statusText),g(vr,`complete`,_,`error`),ae(_.statusText)},_.onabort=()=>{let e=`abort`;se&&(e=`timeout`,clearTimeout(se)),g(_r,`error`,_,e),g(vr,`complete`,_,e),ae(e)},g(hr,`beforeSend`,_,o),r)return ae(`cancel`);ie>0&&(se=n.setTimeout(()=>_.abort(),ie)),_.send(c)})})()},Dr=class extends x{emit(e,t){let n=new CustomEvent(e,Object.assign({bubbles:!0,cancelable:!1,composed:!0,detail:{}},t));return this.dispatchEvent(n)}},Or=class{constructor(e,...t){this.slotNames=[],(this.host=e).addController(this),this.slotNames=t,this.onSlotChange=this.onSlotChange.bind(this)}hostConnected(){this.host.shadowRoot.addEventListener(`slotchange`,this.onSlotChange),Yn()||G(()=>{this.host.requestUpdate()})}hostDisconnected(){this.host.shadowRoot.removeEventListener(`slotchange`,this.onSlotChange)}test(e){return e===`[default]`?this.hasDefaultSlot():this.hasNamedSlot(e)}hasDefaultSlot(){return[...this.host.childNodes].some(e=>e.nodeType===e.TEXT_NODE&&e.textContent.trim()!==``||e.nodeType===e.ELEMENT_NODE&&!e.hasAttribute(`slot`))}hasNamedSlot(e){return this.host.querySelector(`:scope > [slot="${e}"]`)!==null}onSlotChange(e){let t=e.target;(this.slotNames.includes(`[default]`)&&!t.name||t.name&&this.slotNames.includes(t.name))&&this.host.requestUpdate()}},kr=h`:host{box-sizing:border-box}:host *,:host ::after,:host ::before{box-sizing:inherit}:host :focus,:host :focus-visible,:host(:focus),:host(:focus-visible){outline:0}[hidden]{display:none!important}`,Ar=h`:host{display:inline-block;width:1em;height:1em;font-weight:400;font-family:'Material Icons';font-display:block;font-style:normal;line-height:1;direction:ltr;letter-spacing:normal;white-space:nowrap;text-transform:none;word-wrap:normal;-webkit-font-smoothing:antialiased;text-rendering:optimizelegibility;-moz-osx-font-smoothing:grayscale;font-size:1.5rem}::slotted(svg),svg{width:100%;height:100%;fill:currentcolor}`,jr=class extends Dr{constructor(){super(...arguments),this.hasSlotController=new Or(this,`[default]`)}render(){return this.hasSlotController.test(`[default]`)?v`<slot></slot>`:(()=>{if(this.name){let[e,t]=this.name.split(`--`);return v`<span translate="no" style="${E({fontFamily:new Map([[`outlined`,`Material Icons Outlined`],[`filled`,`Material Icons`],[`rounded`,`Material Icons Round`],[`sharp`,`Material Icons Sharp`],[`two-tone`,`Material Icons Two Tone`]]).get(t)})}">${e}</span>`}return this.src?v`${En(Er({url:this.src}).then(xn))}`:v``})()}};jr.styles=[kr,Ar],z([C({reflect:!0})],jr.prototype,`name`,void 0),z([C({reflect:!0})],jr.prototype,`src`,void 0),jr=z([S(`mdui-icon`)],jr);var Mr=e=>e??b;function Nr(e){if(typeof e==`string`||typeof e==`number`)return``+e;let t=``;if(Array.isArray(e))for(let n=0,r;n<e.length;n++)(r=Nr(e[n]))!==``&&(t+=(t&&` `)+r);else for(let n in e)e[n]&&(t+=(t&&` `)+n);return t}var Pr=(e,t,n)=>{let r=e.getAttribute(t);return Rn(r)?n:r},Fr=(e,t)=>{e.removeAttribute(t)},Ir=(e,t,n)=>{Rn(n)?Fr(e,t):e.setAttribute(t,n)},Lr=(e,t)=>Mn().getComputedStyle(e).getPropertyValue(qn(t)),Rr=e=>Lr(e,`box-sizing`)===`border-box`,zr=(e,t,n)=>{let r=t===`width`?[`Left`,`Right`]:[`Top`,`Bottom`];return[0,1].reduce((t,i,a)=>{let o=n+r[a];return n===`border`&&(o+=`Width`),t+parseFloat(Lr(e,o)||`0`)},0)},Br=(e,t)=>{if(t===`width`||t===`height`){let n=e.getBoundingClientRect()[t];return Rr(e)?`${n}px`:`${n-zr(e,t,`border`)-zr(e,t,`padding`)}px`}return Lr(e,t)},Vr=[`animation-iteration-count`,`column-count`,`fill-opacity`,`flex-grow`,`flex-shrink`,`font-weight`,`grid-area`,`grid-column`,`grid-column-end`,`grid-column-start`,`grid-row`,`grid-row-end`,`grid-row-start`,`line-height`,`opacity`,`order`,`orphans`,`widows`,`z-index`,`zoom`];H([`attr`,`prop`,`css`],(e,t)=>{let n=(e,n,r)=>{if(!Ln(r)){if(t===0)return Ir(e,n,r);t===1?e[n]=r:(n=qn(n),e.style.setProperty(n,Fn(r)?`${r}${n.startsWith(`--`)||Vr.includes(n)?``:`px`}`:r))}},r=(e,n)=>t===0?Pr(e,n):t===1?e[n]:Br(e,n);G.fn[e]=function(t,i){if(Wn(t))return U(t,(t,n)=>{this[e](t,n)}),this;if(arguments.length===1){let e=this[0];return Vn(e)?r(e,t):void 0}return this.each((e,a)=>{n(a,t,V(i)?i.call(a,e,r(a,t)):i)})}});var Hr=new WeakMap,Ur=e=>{let t=[...e.elements],n=Hr.get(e)||[],r=(e,t)=>e.compareDocumentPosition(t)&Node.DOCUMENT_POSITION_FOLLOWING?-1:1;return[...t,...n].sort(r)},Wr=e=>[...new Set(e)],Gr=class{constructor(e,t){this.defined=!1,(this.host=e).addController(this),this.relatedElements=t.relatedElements,this.needDomReady=t.needDomReady||!!t.relatedElements,this.onSlotChange=this.onSlotChange.bind(this)}hostConnected(){this.host.shadowRoot.addEventListener(`slotchange`,this.onSlotChange)}hostDisconnected(){this.host.shadowRoot.removeEventListener(`slotchange`,this.onSlotChange)}isDefined(){return this.defined?!0:(this.defined=(!this.needDomReady||Yn())&&!this.getUndefinedLocalNames().length,this.defined)}async whenDefined(){if(this.defined)return Promise.resolve();let e=An();this.needDomReady&&!Yn(e)&&await new Promise(t=>{e.addEventListener(`DOMContentLoaded`,()=>t(),{once:!0})});let t=this.getUndefinedLocalNames();if(t.length){let e=[];t.forEach(t=>{e.push(customElements.whenDefined(t))}),await Promise.all(e)}this.defined=!0}getScopeLocalNameSelector(){let e=this.relatedElements;return e?Array.isArray(e)?e.map(e=>`${e}:not(:defined)`).join(`,`):Object.keys(e).filter(t=>!e[t]).map(e=>`${e}:not(:defined)`).join(`,`):null}getGlobalLocalNameSelector(){let e=this.relatedElements;return!e||Array.isArray(e)?null:Object.keys(e).filter(t=>e[t]).map(e=>`${e}:not(:defined)`).join(`,`)}getUndefinedLocalNames(){let e=this.getScopeLocalNameSelector(),t=this.getGlobalLocalNameSelector(),n=e?[...this.host.querySelectorAll(e)]:[],r=t?[...An().querySelectorAll(t)]:[];return Wr([...n,...r].map(e=>e.localName))}onSlotChange(){let e=this.getScopeLocalNameSelector();e&&this.host.querySelectorAll(e).length&&(this.defined=!1)}},Kr=new WeakMap,qr=new WeakMap,Jr=class{constructor(e,t){(this.host=e).addController(this),this.definedController=new Gr(e,{needDomReady:!0}),this.options={form:e=>{let t=G(e).attr(`form`);return t?e.getRootNode().getElementById(t):e.closest(`form`)},name:e=>e.name,value:e=>e.value,defaultValue:e=>e.defaultValue,setValue:(e,t)=>e.value=t,disabled:e=>e.disabled,reportValidity:e=>!V(e.reportValidity)||e.reportValidity(),...t},this.onFormData=this.onFormData.bind(this),this.onFormSubmit=this.onFormSubmit.bind(this),this.onFormReset=this.onFormReset.bind(this),this.reportFormValidity=this.reportFormValidity.bind(this)}hostConnected(){this.definedController.whenDefined().then(()=>{this.form=this.options.form(this.host),this.form&&this.attachForm(this.form)})}hostDisconnected(){this.detachForm()}hostUpdated(){this.definedController.whenDefined().then(()=>{let e=this.options.form(this.host);e||this.detachForm(),e&&this.form!==e&&(this.detachForm(),this.attachForm(e))})}getForm(){return this.form??null}reset(e){this.doAction(`reset`,e)}submit(e){this.doAction(`submit`,e)}attachForm(e){e?(this.form=e,Hr.has(this.form)?Hr.get(this.form).add(this.host):Hr.set(this.form,new Set([this.host])),this.form.addEventListener(`formdata`,this.onFormData),this.form.addEventListener(`submit`,this.onFormSubmit),this.form.addEventListener(`reset`,this.onFormReset),Kr.has(this.form)||(Kr.set(this.form,this.form.reportValidity),this.form.reportValidity=()=>this.reportFormValidity())):this.form=void 0}detachForm(){this.form&&(Hr.get(this.form).delete(this.host),this.form.removeEventListener(`formdata`,this.onFormData),this.form.removeEventListener(`submit`,this.onFormSubmit),this.form.removeEventListener(`reset`,this.onFormReset),Kr.has(this.form)&&!Hr.get(this.form).size&&(this.form.reportValidity=Kr.get(this.form),Kr.delete(this.form)))}doAction(e,t){if(!this.form)return;let n=G(`<button type="${e}">`).css({position:`absolute`,width:0,height:0,clipPath:`inset(50%)`,overflow:`hidden`,whiteSpace:`nowrap`}),r=n[0];t&&(r.name=t.name,r.value=t.value,[`formaction`,`formenctype`,`formmethod`,`formnovalidate`,`formtarget`].forEach(e=>{n.attr(e,G(t).attr(e))})),this.form.append(r),r.click(),r.remove()}onFormData(e){let t=this.options.disabled(this.host),n=this.options.name(this.host),r=this.options.value(this.host),i=[`mdui-button`,`mdui-button-icon`,`mdui-chip`,`mdui-fab`,`mdui-segmented-button`].includes(this.host.tagName.toLowerCase());!t&&!i&&Pn(n)&&n&&!Ln(r)&&(Array.isArray(r)?r.forEach(t=>{e.formData.append(n,t.toString())}):e.formData.append(n,r.toString()))}onFormSubmit(e){let t=this.options.disabled(this.host),n=this.options.reportValidity;this.form&&!this.form.noValidate&&!t&&!n(this.host)&&(e.preventDefault(),e.stopImmediatePropagation())}onFormReset(){this.form&&(this.options.setValue(this.host,this.options.defaultValue(this.host)),this.host.invalid=!1,qr.has(this.form)?qr.get(this.form).add(this.host):qr.set(this.form,new Set([this.host])))}reportFormValidity(){if(this.form&&!this.form.noValidate){let e=Ur(this.form);for(let t of e)if(V(t.reportValidity)&&!t.reportValidity())return!1}return!0}},Yr=e=>{class t extends e{renderAnchor({id:e,className:t,part:n,content:r=v`<slot></slot>`,refDirective:i,tabIndex:a}){return v`<a ${i} id="${Mr(e)}" class="_a ${t||``}" part="${Mr(n)}" href="${Mr(this.href)}" download="${Mr(this.download)}" target="${Mr(this.target)}" rel="${Mr(this.rel)}" tabindex="${Mr(a)}">${r}</a>`}}return z([C({reflect:!0})],t.prototype,`href`,void 0),z([C({reflect:!0})],t.prototype,`download`,void 0),z([C({reflect:!0})],t.prototype,`target`,void 0),z([C({reflect:!0})],t.prototype,`rel`,void 0),t};G.fn.removeAttr=function(e){let t=e.split(` `).filter(e=>e);return this.each(function(){H(t,e=>{Fr(this,e)})})};var Xr=!0,Zr=An();Zr.addEventListener(`pointerdown`,()=>{Xr=!0}),Zr.addEventListener(`keydown`,()=>{Xr=!1});var Qr=e=>{class t extends e{constructor(){super(...arguments),this.autofocus=!1,this.focused=!1,this.focusVisible=!1,this.focusableDefinedController=new Gr(this,{relatedElements:[``]}),this._manipulatingTabindex=!1,this._tabIndex=0}get tabIndex(){let e=G(this);if(this.focusElement===this)return Number(e.attr(`tabindex`)||-1);let t=Number(e.attr(`tabindex`)||0);return this.focusDisabled||t<0?-1:this.focusElement?this.focusElement.tabIndex:t}set tabIndex(e){if(this._manipulatingTabindex){this._manipulatingTabindex=!1;return}let t=G(this);if(this.focusElement===this){e!==null&&(this._tabIndex=e),t.attr(`tabindex`,this.focusDisabled?null:e);return}let n=()=>{this.tabIndex===-1&&(this.tabIndex=0,this.focus({preventScroll:!0}))};e===-1?this.addEventListener(`pointerdown`,n):(this._manipulatingTabindex=!0,this.removeEventListener(`pointerdown`,n)),e===-1||this.focusDisabled?(t.attr(`tabindex`,-1),e!==-1&&this.manageFocusElementTabindex(e)):(this.hasAttribute(`tabindex`)||(this._manipulatingTabindex=!1),this.manageFocusElementTabindex(e))}get focusDisabled(){throw Error(`Must implement focusDisabled getter!`)}get focusElement(){throw Error(`Must implement focusElement getter!`)}connectedCallback(){super.connectedCallback(),this.updateComplete.then(()=>{requestAnimationFrame(()=>{this.manageAutoFocus()})})}click(){this.focusDisabled||(this.focusElement===this?HTMLElement.prototype.click.apply(this):this.focusElement.click())}focus(e){!this.focusDisabled&&this.focusElement&&(this.focusElement===this?HTMLElement.prototype.focus.apply(this,[e]):this.focusElement.focus(e))}blur(){this.focusElement===this?HTMLElement.prototype.blur.apply(this):this.focusElement.blur()}firstUpdated(e){super.firstUpdated(e),this.focusElement.addEventListener(`focus`,()=>{this.focused=!0,this.focusVisible=!Xr}),this.focusElement.addEventListener(`blur`,()=>{this.focused=!1,this.focusVisible=!1})}update(e){if(this._lastFocusDisabled===void 0||this._lastFocusDisabled!==this.focusDisabled){this._lastFocusDisabled=this.focusDisabled;let e=G(this);this.focusDisabled?e.removeAttr(`tabindex`):this.focusElement===this?(this._manipulatingTabindex=!0,e.attr(`tabindex`,this._tabIndex)):this.tabIndex>-1&&e.removeAttr(`tabindex`)}super.update(e)}updated(e){super.updated(e),this.focused&&this.focusDisabled&&this.blur()}async manageFocusElementTabindex(e){this.focusElement||await this.updateComplete,e===null?this.focusElement.removeAttribute(`tabindex`):this.focusElement.tabIndex=e}manageAutoFocus(){this.autofocus&&(this.dispatchEvent(new KeyboardEvent(`keydown`,{code:`Tab`})),this.focusElement.focus())}}return z([C({type:Boolean,reflect:!0,converter:B})],t.prototype,`autofocus`,void 0),z([C({type:Boolean,reflect:!0,converter:B})],t.prototype,`focused`,void 0),z([C({type:Boolean,reflect:!0,converter:B,attribute:`focus-visible`})],t.prototype,`focusVisible`,void 0),z([C({type:Number,attribute:`tabindex`})],t.prototype,`tabIndex`,null),t},$r=dt(class extends ft{constructor(e){if(super(e),e.type!==ut.ATTRIBUTE||e.name!==`class`||e.strings?.length>2)throw Error("`classMap()` can only be used in the `class` attribute and must be the only part in the attribute.")}render(e){return` `+Object.keys(e).filter(t=>e[t]).join(` `)+` `}update(e,[t]){if(this.st===void 0){this.st=new Set,e.strings!==void 0&&(this.nt=new Set(e.strings.join(` `).split(/\s/).filter(e=>e!==``)));for(let e in t)t[e]&&!this.nt?.has(e)&&this.st.add(e);return this.render(t)}let n=e.element.classList;for(let e of this.st)e in t||(n.remove(e),this.st.delete(e));for(let e in t){let r=!!t[e];r===this.st.has(e)||this.nt?.has(e)||(r?(n.add(e),this.st.add(e)):(n.remove(e),this.st.delete(e)))}return y}}),ei=h`:host{position:relative;display:inline-block;flex-shrink:0;width:2.5rem;height:2.5rem;stroke:rgb(var(--mdui-color-primary))}.progress{position:relative;display:inline-block;width:100%;height:100%;text-align:left;transition:opacity var(--mdui-motion-duration-medium1) var(--mdui-motion-easing-linear)}.determinate svg{transform:rotate(-90deg);fill:transparent}.determinate .track{stroke:transparent}.determinate .circle{stroke:inherit;transition:stroke-dashoffset var(--mdui-motion-duration-long2) var(--mdui-motion-easing-standard)}.indeterminate{font-size:0;letter-spacing:0;white-space:nowrap;animation:mdui-comp-circular-progress-rotate 1568ms var(--mdui-motion-easing-linear) infinite}.indeterminate .circle,.indeterminate .layer{position:absolute;width:100%;height:100%}.indeterminate .layer{animation:mdui-comp-circular-progress-layer-rotate 5332ms var(--mdui-motion-easing-standard) infinite both}.indeterminate .circle{fill:transparent;stroke:inherit}.indeterminate .gap-patch{position:absolute;top:0;left:47.5%;width:5%;height:100%;overflow:hidden}.indeterminate .gap-patch .circle{left:-900%;width:2000%;transform:rotate(180deg)}.indeterminate .clipper{position:relative;display:inline-block;width:50%;height:100%;overflow:hidden}.indeterminate .clipper .circle{width:200%}.indeterminate .clipper.left .circle{animation:mdui-comp-circular-progress-left-spin 1333ms var(--mdui-motion-easing-standard) infinite both}.indeterminate .clipper.right .circle{left:-100%;animation:mdui-comp-circular-progress-right-spin 1333ms var(--mdui-motion-easing-standard) infinite both}@keyframes mdui-comp-circular-progress-rotate{to{transform:rotate(360deg)}}@keyframes mdui-comp-circular-progress-layer-rotate{12.5%{transform:rotate(135deg)}25%{transform:rotate(270deg)}37.5%{transform:rotate(405deg)}50%{transform:rotate(540deg)}62.5%{transform:rotate(675deg)}75%{transform:rotate(810deg)}87.5%{transform:rotate(945deg)}100%{transform:rotate(1080deg)}}@keyframes mdui-comp-circular-progress-left-spin{0%{transform:rotate(265deg)}50%{transform:rotate(130deg)}100%{transform:rotate(265deg)}}@keyframes mdui-comp-circular-progress-right-spin{0%{transform:rotate(-265deg)}50%{transform:rotate(-130deg)}100%{transform:rotate(-265deg)}}`,ti=class extends Dr{constructor(){super(...arguments),this.max=1}render(){let e=!Ln(this.value);return v`<div class="progress ${$r({determinate:e,indeterminate:!e})}">${e?this.renderDeterminate():this.renderInDeterminate()}</div>`}renderDeterminate(){let e=this.value;return v`<svg viewBox="0 0 ${40} ${40}"><circle class="track" cx="${20}" cy="${20}" r="${18}" stroke-width="${4}"></circle><circle class="circle" cx="${20}" cy="${20}" r="${18}" stroke-dasharray="${113.0973336}" stroke-dashoffset="${(1-e/Math.max(this.max??e,e))*113.0973336}" stroke-width="${4}"></circle></svg>`}renderInDeterminate(){let e=e=>v`<svg class="circle" viewBox="0 0 ${40} ${40}"><circle cx="${20}" cy="${20}" r="${18}" stroke-dasharray="${113.0973336}" stroke-dashoffset="${56.5486668}" stroke-width="${e}"></circle></svg>`;return v`<div class="layer"><div class="clipper left">${e(4)}</div><div class="gap-patch">${e(3.2)}</div><div class="clipper right">${e(4)}</div></div>`}};ti.styles=[kr,ei],z([C({type:Number,reflect:!0})],ti.prototype,`max`,void 0),z([C({type:Number})],ti.prototype,`value`,void 0),ti=z([S(`mdui-circular-progress`)],ti),G.fn.is=function(e){let t=!1;if(V(e))return this.each((n,r)=>{e.call(r,n,r)&&(t=!0)}),t;if(Pn(e))return this.each((n,r)=>{Bn(r)||zn(r)||r.matches.call(r,e)&&(t=!0)}),t;let n=G(e);return this.each((e,r)=>{n.each((e,n)=>{r===n&&(t=!0)})}),t},G.fn.children=function(e){let t=[];return this.each((n,r)=>{H(r.childNodes,n=>{Vn(n)&&(!e||G(n).is(e))&&t.push(n)})}),new W(Wr(t))},G.fn.slice=function(...e){return new W([].slice.apply(this,e))},G.fn.eq=function(e){return new W(e===-1?this.slice(e):this.slice(e,+e+1))};var ni=(e,t,n,r,i)=>{let a=[],o;return e.each((e,s)=>{for(o=s[n];o&&Vn(o);){if(t===2){if(r&&G(o).is(r))break;(!i||G(o).is(i))&&a.push(o)}else if(t===0){(!r||G(o).is(r))&&a.push(o);break}else(!r||G(o).is(r))&&a.push(o);o=o[n]}}),new W(Wr(a))};H([``,`s`,`sUntil`],(e,t)=>{G.fn[`parent${e}`]=function(e,n){return ni(t?G(this.get().reverse()):this,t,`parentNode`,e,n)}}),G.fn.index=function(e){return arguments.length?Pn(e)?G(e).get().indexOf(this[0]):this.get().indexOf(G(e)[0]):this.eq(0).parent().children().get().indexOf(this[0])},H([`add`,`remove`,`toggle`],e=>{G.fn[`${e}Class`]=function(t){return e===`remove`&&!arguments.length?this.each((e,t)=>{Ir(t,`class`,``)}):this.each((n,r)=>{Vn(r)&&H((V(t)?t.call(r,n,Pr(r,`class`,``)):t).split(` `).filter(e=>e),t=>{r.classList[e](t)})})}});var ri=new WeakMap,ii=e=>ri.get(e)??{},ai=(e,t)=>{let n=ii(e),r=Kn(t);return r in n?n[r]:void 0},oi=(e,t)=>{let n=ii(e);U(t,(e,t)=>{n[Kn(e)]=t}),ri.set(e,n)},si=(e,t,n)=>{oi(e,{[t]:n})},ci=/^(?:{[\w\W]*\}|\[[\w\W]*\])$/,li=e=>e===`true`?!0:e===`false`?!1:e===`null`?null:e===+e+``?+e:ci.test(e)?JSON.parse(e):e,ui=(e,t,n)=>{if(Ln(n)&&e.nodeType===1&&(n=e.dataset[t],Pn(n)))try{n=li(n)}catch{}return n};G.fn.data=function(e,t){if(Ln(e)){if(!this.length)return;let e=this[0],t=ii(e);return e.nodeType===1&&U(e.dataset,n=>{t[n]=ui(e,n,t[n])}),t}if(Wn(e))return this.each(function(){oi(this,e)});if(arguments.length===2&&Ln(t))return this;if(!Ln(t))return this.each(function(){si(this,e,t)});if(this.length)return ui(this[0],Kn(e),ai(this[0],e))};function di(e,t){return Un(e)?H(e,(e,n)=>t.call(e,n,e)):U(e,t)}function fi(e,t){let n=Mn(),r,i=[];return di(e,(e,a)=>{r=t.call(n,a,e),r!=null&&i.push(r)}),[].concat(...i)}G.fn.map=function(e){return new W(fi(this,(t,n)=>e.call(t,n,t)))},G.fn.filter=function(e){if(V(e))return this.map((t,n)=>e.call(n,t,n)?n:void 0);if(Pn(e))return this.map((t,n)=>G(n).is(e)?n:void 0);let t=G(e);return this.map((e,n)=>t.get().includes(n)?n:void 0)};var pi=(e,t,n,r,i,a)=>{let o=n=>zr(e,t.toLowerCase(),n)*a;return r===2&&i&&(n+=o(`margin`)),Rr(e)?(r===0&&(n-=o(`border`)),r===1&&(n-=o(`border`),n-=o(`padding`))):(r===0&&(n+=o(`padding`)),r===2&&(n+=o(`border`),n+=o(`padding`))),n},mi=(e,t,n,r)=>{let i=An(),a=`client${t}`,o=`scroll${t}`,s=`offset${t}`,c=`inner${t}`;if(zn(e))return n===2?e[c]:Gn(i)[a];if(Bn(e)){let t=Gn(e);return Math.max(e.body[o],t[o],e.body[s],t[s],t[a])}return pi(e,t,parseFloat(Lr(e,t.toLowerCase())||`0`),n,r,1)},hi=(e,t,n,r,i,a)=>{let o=V(a)?a.call(e,t,mi(e,n,r,i)):a;if(o==null)return;let s=G(e),c=n.toLowerCase();if(Pn(o)&&[`auto`,`inherit`,``].includes(o)){s.css(c,o);return}let l=o.toString().replace(/\b[0-9.]*/,``);o=pi(e,n,parseFloat(o),r,i,-1)+(l||`px`),s.css(c,o)};H([`Width`,`Height`],e=>{H([`inner${e}`,e.toLowerCase(),`outer${e}`],(t,n)=>{G.fn[t]=function(t,r){let i=arguments.length&&(n<2||!In(t)),a=t===!0||r===!0;return i?this.each((r,i)=>hi(i,r,e,n,a,t)):this.length?mi(this[0],e,n,a):void 0}})}),G.fn.offsetParent=function(){let e=An();return this.map(function(){let t=this.offsetParent;for(;t&&G(t).css(`position`)===`static`;)t=t.offsetParent;return t||e.documentElement})};var gi=(e,t)=>parseFloat(e.css(t));G.fn.position=function(){if(!this.length)return;let e=this.eq(0),t,n={left:0,top:0};if(e.css(`position`)===`fixed`)t=e[0].getBoundingClientRect();else{t=e.offset();let r=e.offsetParent();n=r.offset(),n.top+=gi(r,`border-top-width`),n.left+=gi(r,`border-left-width`)}return{top:t.top-n.top-gi(e,`margin-top`),left:t.left-n.left-gi(e,`margin-left`)}};var _i=e=>{if(!e.getClientRects().length)return{top:0,left:0};let{top:t,left:n}=e.getBoundingClientRect(),{pageYOffset:r,pageXOffset:i}=e.ownerDocument.defaultView;return{top:t+r,left:n+i}},vi=(e,t,n)=>{let r=G(e),i=r.css(`position`);i===`static`&&r.css(`position`,`relative`);let a=_i(e),o=r.css(`top`),s=r.css(`left`),c,l;if((i===`absolute`||i===`fixed`)&&(o+s).includes(`auto`)){let e=r.position();c=e.top,l=e.left}else c=parseFloat(o),l=parseFloat(s);let u=V(t)?t.call(e,n,mr({},a)):t;r.css({top:u.top==null?void 0:u.top-a.top+c,left:u.left==null?void 0:u.left-a.left+l})};G.fn.offset=function(e){return arguments.length?this.each(function(t){vi(this,e,t)}):this.length?_i(this[0]):void 0},G.fn.off=function(e,t,n){return Wn(e)?(U(e,(e,n)=>{this.off(e,t,n)}),this):((t===!1||V(t))&&(n=t,t=void 0),n===!1&&(n=Jn),this.each(function(){pr(this,e,n,t)}))},G.fn.on=function(e,t,n,r,i){if(Wn(e))return Pn(t)||(n||=t,t=void 0),U(e,(e,r)=>{this.on(e,t,n,r,i)}),this;if(n==null&&r==null?(r=t,n=t=void 0):r??(Pn(t)?(r=n,n=void 0):(r=n,n=t,t=void 0)),r===!1)r=Jn;else if(!r)return this;if(i){let e=this,n=r;r=function(i,...a){return e.off(i.type,t,r),n.call(this,i,...a)}}return this.each(function(){fr(this,e,r,n,t)})},H([`insertBefore`,`insertAfter`],(e,t)=>{G.fn[e]=function(e){let n=t?G(this.get().reverse()):this,r=G(e),i=[];return r.each((e,r)=>{r.parentNode&&n.each((n,a)=>{let o=e?a.cloneNode(!0):a,s=t?r.nextSibling:r;i.push(o),r.parentNode.insertBefore(o,s)})}),G(t?i.reverse():i)}}),G.fn.remove=function(e){return this.each((t,n)=>{(!e||G(n).is(e))&&Qn(n)})},H([`appendTo`,`prependTo`],(e,t)=>{G.fn[e]=function(e){let n=[],r=G(e).map((e,r)=>{let i=r.childNodes,a=i.length;if(a)return i[t?0:a-1];let o=Xn(`div`);return Zn(r,o),n.push(o),o}),i=this[t?`insertBefore`:`insertAfter`](r);return G(n).remove(),i}});var yi=h`:host{position:absolute;top:0;left:0;display:block;width:100%;height:100%;overflow:hidden;pointer-events:none}.surface{position:absolute;top:0;left:0;width:100%;height:100%;transition-duration:280ms;transition-property:background-color;pointer-events:none;transition-timing-function:var(--mdui-motion-easing-standard)}.hover{background-color:rgba(var(--mdui-comp-ripple-state-layer-color,var(--mdui-color-on-surface)),var(--mdui-state-layer-hover))}:host-context([focus-visible]) .focused{background-color:rgba(var(--mdui-comp-ripple-state-layer-color,var(--mdui-color-on-surface)),var(--mdui-state-layer-focus))}.dragged{background-color:rgba(var(--mdui-comp-ripple-state-layer-color,var(--mdui-color-on-surface)),var(--mdui-state-layer-dragged))}.wave{position:absolute;z-index:1;background-color:rgb(var(--mdui-comp-ripple-state-layer-color,var(--mdui-color-on-surface)));border-radius:50%;transform:translate3d(0,0,0) scale(.4);opacity:0;animation:225ms ease 0s 1 normal forwards running mdui-comp-ripple-radius-in,75ms ease 0s 1 normal forwards running mdui-comp-ripple-opacity-in;pointer-events:none}.out{transform:translate3d(var(--mdui-comp-ripple-transition-x,0),var(--mdui-comp-ripple-transition-y,0),0) scale(1);animation:150ms ease 0s 1 normal none running mdui-comp-ripple-opacity-out}@keyframes mdui-comp-ripple-radius-in{from{transform:translate3d(0,0,0) scale(.4);animation-timing-function:var(--mdui-motion-easing-standard)}to{transform:translate3d(var(--mdui-comp-ripple-transition-x,0),var(--mdui-comp-ripple-transition-y,0),0) scale(1)}}@keyframes mdui-comp-ripple-opacity-in{from{opacity:0;animation-timing-function:linear}to{opacity:var(--mdui-state-layer-pressed)}}@keyframes mdui-comp-ripple-opacity-out{from{animation-timing-function:linear;opacity:var(--mdui-state-layer-pressed)}to{opacity:0}}`,bi=class extends Dr{constructor(){super(...arguments),this.noRipple=!1,this.hover=!1,this.focused=!1,this.dragged=!1,this.surfaceRef=Gt()}startPress(e){if(this.noRipple)return;let t=G(this.surfaceRef.value),n=t.innerHeight(),r=t.innerWidth(),i,a;if(!e)i=r/2,a=n/2;else{let o=typeof TouchEvent<`u`&&e instanceof TouchEvent&&e.touches.length?e.touches[0]:e,s=t.offset();if(o.pageX<s.left||o.pageX>s.left+r||o.pageY<s.top||o.pageY>s.top+n)return;i=o.pageX-s.left,a=o.pageY-s.top}let o=Math.max((n**2+r**2)**.5,48),s=`${-i+r/2}px`,c=`${-a+n/2}px`,l=`translate3d(${s}, ${c}, 0) scale(1)`;G(`<div class="wave"></div>`).css({width:o,height:o,marginTop:-o/2,marginLeft:-o/2,left:i,top:a}).each((e,t)=>{t.style.setProperty(`--mdui-comp-ripple-transition-x`,s),t.style.setProperty(`--mdui-comp-ripple-transition-y`,c)}).prependTo(this.surfaceRef.value).each((e,t)=>t.clientLeft).css(`transform`,l).on(`animationend`,function(e){e.animationName===`mdui-comp-ripple-radius-in`&&G(this).data(`filled`,!0)})}endPress(){let e=G(this.surfaceRef.value).children().filter((e,t)=>!G(t).data(`removing`)).data(`removing`,!0),t=e=>{e.addClass(`out`).each((e,t)=>t.clientLeft).on(`animationend`,function(){G(this).remove()})};e.filter((e,t)=>!G(t).data(`filled`)).on(`animationend`,function(e){e.animationName===`mdui-comp-ripple-radius-in`&&t(G(this))}),t(e.filter((e,t)=>!!G(t).data(`filled`)))}startHover(){this.hover=!0}endHover(){this.hover=!1}startFocus(){this.focused=!0}endFocus(){this.focused=!1}startDrag(){this.dragged=!0}endDrag(){this.dragged=!1}render(){return v`<div ${Jt(this.surfaceRef)} class="surface ${$r({hover:this.hover,focused:this.focused,dragged:this.dragged})}"></div>`}};bi.styles=[kr,yi],z([C({type:Boolean,reflect:!0,converter:B,attribute:`no-ripple`})],bi.prototype,`noRipple`,void 0),z([w()],bi.prototype,`hover`,void 0),z([w()],bi.prototype,`focused`,void 0),z([w()],bi.prototype,`dragged`,void 0),bi=z([S(`mdui-ripple`)],bi);var xi=e=>{class t extends e{constructor(){super(...arguments),this.noRipple=!1,this.rippleIndex=void 0,this.getRippleIndex=()=>this.rippleIndex}get rippleElement(){throw Error(`Must implement rippleElement getter!`)}get rippleDisabled(){throw Error(`Must implement rippleDisabled getter!`)}get rippleTarget(){return this}firstUpdated(e){super.firstUpdated(e);let t=G(this.rippleTarget),n=e=>{Un(this.rippleTarget)&&(this.rippleIndex=t.index(e.target))};(Un(this.rippleTarget)?this.rippleTarget:[this.rippleTarget]).forEach(e=>{e.addEventListener(`pointerdown`,e=>{n(e),this.startPress(e)}),e.addEventListener(`pointerenter`,e=>{n(e),this.startHover(e)}),e.addEventListener(`pointerleave`,e=>{n(e),this.endHover(e)}),e.addEventListener(`focus`,e=>{n(e),this.startFocus()}),e.addEventListener(`blur`,e=>{n(e),this.endFocus()})})}startHover(e){e.pointerType!==`mouse`||this.isRippleDisabled()||(this.getRippleTarget().setAttribute(`hover`,``),this.getRippleElement().startHover())}endHover(e){e.pointerType!==`mouse`||this.isRippleDisabled()||(this.getRippleTarget().removeAttribute(`hover`),this.getRippleElement().endHover())}isRippleDisabled(){let e=this.rippleDisabled;if(!Array.isArray(e))return e;let t=this.getRippleIndex();return t===void 0?e.length?e[0]:!1:e[t]}getRippleElement(){let e=this.rippleElement;if(!Un(e))return e;let t=this.getRippleIndex();return t===void 0?e[0]:e[t]}getRippleTarget(){let e=this.rippleTarget;if(!Un(e))return e;let t=this.getRippleIndex();return t===void 0?e[0]:e[t]}startFocus(){this.isRippleDisabled()||this.getRippleElement().startFocus()}endFocus(){this.isRippleDisabled()||this.getRippleElement().endFocus()}startPress(e){if(this.isRippleDisabled()||e.button)return;let t=this.getRippleTarget();if(t.setAttribute(`pressed`,``),[`touch`,`pen`].includes(e.pointerType)){let n=!1,r=setTimeout(()=>{r=0,this.getRippleElement().startPress(e)},70),i=()=>{r&&(clearTimeout(r),r=0,this.getRippleElement().startPress(e)),n||(n=!0,this.endPress()),t.removeEventListener(`pointerup`,i),t.removeEventListener(`pointercancel`,i)},a=()=>{r&&=(clearTimeout(r),0),t.removeEventListener(`touchmove`,a)};t.addEventListener(`touchmove`,a),t.addEventListener(`pointerup`,i),t.addEventListener(`pointercancel`,i)}if(e.pointerType===`mouse`&&e.button===0){let n=()=>{this.endPress(),t.removeEventListener(`pointerup`,n),t.removeEventListener(`pointercancel`,n),t.removeEventListener(`pointerleave`,n)};this.getRippleElement().startPress(e),t.addEventListener(`pointerup`,n),t.addEventListener(`pointercancel`,n),t.addEventListener(`pointerleave`,n)}}endPress(){this.isRippleDisabled()||(this.getRippleTarget().removeAttribute(`pressed`),this.getRippleElement().endPress())}startDrag(){this.isRippleDisabled()||this.getRippleElement().startDrag()}endDrag(){this.isRippleDisabled()||this.getRippleElement().endDrag()}}return z([C({type:Boolean,reflect:!0,converter:B,attribute:`no-ripple`})],t.prototype,`noRipple`,void 0),t},Si=h`.button{position:relative;display:inline-flex;align-items:center;justify-content:center;height:100%;padding:0;overflow:hidden;color:inherit;font-size:inherit;font-family:inherit;font-weight:inherit;letter-spacing:inherit;white-space:nowrap;text-align:center;text-decoration:none;vertical-align:middle;background:0 0;border:none;outline:0;cursor:inherit;-webkit-user-select:none;user-select:none;touch-action:manipulation;zoom:1;-webkit-user-drag:none}`,K=class extends Yr(xi(Qr(Dr))){constructor(){super(...arguments),this.disabled=!1,this.loading=!1,this.name=``,this.value=``,this.type=`button`,this.formNoValidate=!1,this.formController=new Jr(this)}get validity(){if(this.isButton())return this.focusElement.validity}get validationMessage(){if(this.isButton())return this.focusElement.validationMessage}get rippleDisabled(){return this.disabled||this.loading}get focusElement(){return this.isButton()?this.renderRoot?.querySelector(`._button`):this.focusDisabled?this:this.renderRoot?.querySelector(`._a`)}get focusDisabled(){return this.disabled||this.loading}checkValidity(){if(this.isButton()){let e=this.focusElement.checkValidity();return e||this.emit(`invalid`,{bubbles:!1,cancelable:!0,composed:!1}),e}return!0}reportValidity(){if(this.isButton()){let e=!this.focusElement.reportValidity();return e&&this.emit(`invalid`,{bubbles:!1,cancelable:!0,composed:!1}),!e}return!0}setCustomValidity(e){this.isButton()&&this.focusElement.setCustomValidity(e)}firstUpdated(e){super.firstUpdated(e),this.addEventListener(`click`,()=>{this.type===`submit`&&this.formController.submit(this),this.type===`reset`&&this.formController.reset(this)})}renderLoading(){return this.loading?v`<mdui-circular-progress part="loading"></mdui-circular-progress>`:vn}renderButton({id:e,className:t,part:n,content:r=v`<slot></slot>`}){return v`<button id="${Mr(e)}" class="${Nr([`_button`,t])}" part="${Mr(n)}" ?disabled="${this.rippleDisabled||this.focusDisabled}">${r}</button>`}isButton(){return!this.href}};K.styles=[kr,Si],z([C({type:Boolean,reflect:!0,converter:B})],K.prototype,`disabled`,void 0),z([C({type:Boolean,reflect:!0,converter:B})],K.prototype,`loading`,void 0),z([C({reflect:!0})],K.prototype,`name`,void 0),z([C({reflect:!0})],K.prototype,`value`,void 0),z([C({reflect:!0})],K.prototype,`type`,void 0),z([C({reflect:!0})],K.prototype,`form`,void 0),z([C({reflect:!0,attribute:`formaction`})],K.prototype,`formAction`,void 0),z([C({reflect:!0,attribute:`formenctype`})],K.prototype,`formEnctype`,void 0),z([C({reflect:!0,attribute:`formmethod`})],K.prototype,`formMethod`,void 0),z([C({type:Boolean,reflect:!0,converter:B,attribute:`formnovalidate`})],K.prototype,`formNoValidate`,void 0),z([C({reflect:!0,attribute:`formtarget`})],K.prototype,`formTarget`,void 0);var Ci=h`:host{--shape-corner:var(--mdui-shape-corner-full);position:relative;display:inline-block;flex-shrink:0;overflow:hidden;text-align:center;border-radius:var(--shape-corner);cursor:pointer;-webkit-tap-highlight-color:transparent;transition:box-shadow var(--mdui-motion-duration-short4) var(--mdui-motion-easing-linear);min-width:3rem;height:2.5rem;color:rgb(var(--mdui-color-primary));font-size:var(--mdui-typescale-label-large-size);font-weight:var(--mdui-typescale-label-large-weight);letter-spacing:var(--mdui-typescale-label-large-tracking);line-height:var(--mdui-typescale-label-large-line-height)}.button{width:100%;padding:0 1rem}:host([full-width]:not([full-width=false i])){width:100%}:host([variant=elevated]){box-shadow:var(--mdui-elevation-level1);background-color:rgb(var(--mdui-color-surface-container-low));--mdui-comp-ripple-state-layer-color:var(--mdui-color-primary)}:host([variant=filled]){color:rgb(var(--mdui-color-on-primary));background-color:rgb(var(--mdui-color-primary));--mdui-comp-ripple-state-layer-color:var(--mdui-color-on-primary)}:host([variant=tonal]){color:rgb(var(--mdui-color-on-secondary-container));background-color:rgb(var(--mdui-color-secondary-container));--mdui-comp-ripple-state-layer-color:var(
      --mdui-color-on-secondary-container
    )}:host([variant=outlined]){border:.0625rem solid rgb(var(--mdui-color-outline));--mdui-comp-ripple-state-layer-color:var(--mdui-color-primary)}:host([variant=text]){--mdui-comp-ripple-state-layer-color:var(--mdui-color-primary)}:host([variant=outlined][focus-visible]){border-color:rgb(var(--mdui-color-primary))}:host([variant=elevated][hover]){box-shadow:var(--mdui-elevation-level2)}:host([variant=filled][hover]),:host([variant=tonal][hover]){box-shadow:var(--mdui-elevation-level1)}:host([disabled]:not([disabled=false i])),:host([loading]:not([loading=false i])){cursor:default;pointer-events:none}:host([disabled]:not([disabled=false i])){color:rgba(var(--mdui-color-on-surface),38%);box-shadow:var(--mdui-elevation-level0)}:host([variant=elevated][disabled]:not([disabled=false i])),:host([variant=filled][disabled]:not([disabled=false i])),:host([variant=tonal][disabled]:not([disabled=false i])){background-color:rgba(var(--mdui-color-on-surface),12%)}:host([variant=outlined][disabled]:not([disabled=false i])){border-color:rgba(var(--mdui-color-on-surface),12%)}.label{display:inline-flex;padding-right:.5rem;padding-left:.5rem}.end-icon,.icon{display:inline-flex;font-size:1.28571429em}.end-icon mdui-icon,.icon mdui-icon,::slotted([slot=end-icon]),::slotted([slot=icon]){font-size:inherit}mdui-circular-progress{display:inline-flex;width:1.125rem;height:1.125rem}:host([variant=filled]) mdui-circular-progress{stroke:rgb(var(--mdui-color-on-primary))}:host([variant=tonal]) mdui-circular-progress{stroke:rgb(var(--mdui-color-on-secondary-container))}:host([disabled]:not([disabled=false i])) mdui-circular-progress{stroke:rgba(var(--mdui-color-on-surface),38%)}`,wi=class extends K{constructor(){super(...arguments),this.variant=`filled`,this.fullWidth=!1,this.rippleRef=Gt()}get rippleElement(){return this.rippleRef.value}render(){return v`<mdui-ripple ${Jt(this.rippleRef)} .noRipple="${this.noRipple}"></mdui-ripple>${this.isButton()?this.renderButton({className:`button`,part:`button`,content:this.renderInner()}):this.disabled||this.loading?v`<span part="button" class="button _a">${this.renderInner()}</span>`:this.renderAnchor({className:`button`,part:`button`,content:this.renderInner()})}`}renderIcon(){return this.loading?this.renderLoading():v`<slot name="icon" part="icon" class="icon">${this.icon?v`<mdui-icon name="${this.icon}"></mdui-icon>`:vn}</slot>`}renderLabel(){return v`<slot part="label" class="label"></slot>`}renderEndIcon(){return v`<slot name="end-icon" part="end-icon" class="end-icon">${this.endIcon?v`<mdui-icon name="${this.endIcon}"></mdui-icon>`:vn}</slot>`}renderInner(){return[this.renderIcon(),this.renderLabel(),this.renderEndIcon()]}};wi.styles=[K.styles,Ci],z([C({reflect:!0})],wi.prototype,`variant`,void 0),z([C({type:Boolean,reflect:!0,converter:B,attribute:`full-width`})],wi.prototype,`fullWidth`,void 0),z([C({reflect:!0})],wi.prototype,`icon`,void 0),z([C({reflect:!0,attribute:`end-icon`})],wi.prototype,`endIcon`,void 0),wi=z([S(`mdui-button`)],wi);var Ti=4e3,Ei=2e4,Di=class extends x{constructor(...e){super(...e),this.text=``,this.verbatim=!1,this.ends=[],this.#e=()=>{this.ends.at(-1)!==this.text.length&&(this.ends=[...this.ends,this.text.length])},this.#t=async()=>{this.ends=[...this.ends,Pt(this.text,this.ends.at(-1)??0,Ei)],await this.updateComplete,this.renderRoot.querySelector(`.more`)===null&&this.renderRoot.querySelector(`div:last-of-type`)?.focus({preventScroll:!0})}}static{this.styles=[k,h`
      :host {
        display: block;
        white-space: normal;
        overflow-wrap: anywhere;
      }

      p {
        margin: 0 0 var(--paragraph-gap, 0.85em);
        white-space: pre-wrap;
        unicode-bidi: plaintext;
      }

      div:last-of-type > p:last-child {
        margin-bottom: 0;
      }

      div:focus {
        outline: 0;
      }

      .later {
        content-visibility: auto;
        contain-intrinsic-size: auto 40rem;
      }

      .more {
        display: flex;
        flex-wrap: wrap;
        align-items: center;
        gap: 0.5rem 1rem;
        margin-top: 0.5rem;
        font: var(--mdui-typescale-label-medium-size) / 1.4 var(--font-page);
        color: rgb(var(--mdui-color-on-surface-variant));
      }

      @media print {
        .later {
          content-visibility: visible;
        }
      }
    `]}connectedCallback(){super.connectedCallback(),addEventListener(`beforeprint`,this.#e)}disconnectedCallback(){super.disconnectedCallback(),removeEventListener(`beforeprint`,this.#e)}willUpdate(e){e.has(`text`)&&(this.ends=[Pt(this.text,0,Ti)])}render(){let e=this.ends.at(-1)??0,t=this.text.length-e;return v`${T(this.ends,(e,t)=>t,(e,t)=>{let n=this.text.slice(this.ends[t-1]??0,e);return v`<div class=${t===0?`first`:`later`} tabindex="-1">
          ${(this.verbatim?[n]:Oi(n)).map(e=>v`<p dir="auto">${e}</p>`)}
        </div>`})}${t===0?b:v`<div class="more">
          <mdui-button variant="text" @click=${this.#t}>Show more</mdui-button>
          <span>${t.toLocaleString(`en`)} more characters</span>
        </div>`}`}#e;#t};O([C({attribute:!1})],Di.prototype,`text`,void 0),O([C({type:Boolean})],Di.prototype,`verbatim`,void 0),O([w()],Di.prototype,`ends`,void 0),Di=O([S(`narratoria-long-text`)],Di);function Oi(e){return e.split(/\n[ \t]*\n\s*/).map(e=>e.trim()).filter(e=>e!==``)}function ki(e){return`#/tools/${an(e)}`}var Ai=500,ji=[];function Mi(e,t){if(e.length+t.length<Ai)return`#/tools/${an(e)}/${an(t)}`;let n=ji.find(n=>n.toolId===t&&n.planKey===e);if(n!==void 0)return n.route;let r=`#/tools/${an(e)}/${an(t)}`;return ji.unshift({planKey:e,toolId:t,route:r}),ji.length>64&&ji.pop(),r}var Ni=[1,2,5,10,20,50,100,200,500,1e3,2e3,5e3,1e4,15e3,3e4,6e4,12e4,3e5,6e5,18e5,36e5];function Pi(e,t,n){if(!(e>0)||!(t>0))return[{at:0,label:`0`}];let r=Ni.find(r=>r/e*t>=n)??36e5;for(;r/e*t<n;)r*=2;let i=[];for(let t=0;t*r<=e;++t){let e=t*r;i.push({at:e,label:e===0?`0`:Fi(e,r)})}return i}function Fi(e,t){return t<1e3&&e<1e3?`${e} ms`:e<6e4?`${(e/1e3).toFixed(t<100?2:+(t<1e3))} s`:Ii(e)}function Ii(e){let t=Math.floor(e/1e3),n=String(t%60).padStart(2,`0`);return t<3600?`${Math.floor(t/60)}:${n}`:`${Math.floor(t/3600)}:${String(Math.floor(t/60)%60).padStart(2,`0`)}:${n}`}function Li(e){let t=Math.max(0,Math.round(e));return t<1e3?`${t} ms`:t<9950?`${(t/1e3).toFixed(1)} s`:t<59500?`${Math.round(t/1e3)} s`:Ii(t+500)}function Ri(e){let t=new Date(e),n=e=>String(e).padStart(2,`0`);return`${n(t.getHours())}:${n(t.getMinutes())}:${n(t.getSeconds())}.${String(t.getMilliseconds()).padStart(3,`0`)}`}function zi(e,t,n,r){let i=Bi((e-n)/r);return{from:i,to:Math.max(i,Bi((t-n)/r))}}function Bi(e){return Number.isFinite(e)?Math.min(1,Math.max(0,e)):0}var Vi=[`image`,`audio`,`video`,`text`,`model`,`other`];function Hi(e){let t=(e.mediaType.slice(0,200).split(`;`)[0]??``).trim().toLowerCase();if(t===`text/html`||t===`text/xml`)return`other`;let n=t.split(`/`)[0];return n===`image`||n===`audio`||n===`video`||n===`text`||n===`model`?n:`other`}var Ui={image:`image`,audio:`music`,video:`movie`,text:`text`,model:`model`,other:`file`},Wi=[`alt`,`description`,`title`,`caption`],Gi=[`title`,`caption`,`name`];function Ki(e){return j(Xi(e,Wi)??e.assetId,1e3)}function qi(e){return Ji(e)??Xi(e,Wi)??e.assetId}function Ji(e){return Xi(e,Gi)}function Yi(e){let t=e;for(;t.replaced!==void 0;)t=t.replaced;return t}function Xi(e,t){for(let n of t){let t=I(e.metadata,n)?.trim();if(t!==void 0&&t!==``)return t}}function Zi(e){return`/api/assets/${e.seq}`}function Qi(e){let t=e.path.split(/[\\/]/).at(-1)??``;return t===``?e.assetId:t}function $i(e){let t=e.mediaType.slice(0,200);return((t.split(`;`)[0]??``).split(`/`)[1]??t).replace(/^(x-|vnd\.)/,``).replace(/\+.*$/,``).toUpperCase().slice(0,40)}var ea=class{#e;#t;constructor(e,t=(e,t)=>fetch(e,t)){this.address=e,this.get=t,this.pieces=[],this.read=0,this.size=void 0,this.done=!1,this.#e=``,this.#t=new TextDecoder(`utf-8`)}async more(e,t){if(this.done)return;let n=this.read+e-1,r=await this.get(this.address,{headers:{Range:`bytes=${this.read}-${n}`},...t===void 0?{}:{signal:t}});if(r.status===416){this.done=!0,this.pieces.push(this.#e);return}if(!r.ok)throw Error(`${r.status}`);if(r.status===200&&this.read>0)throw Error(`no ranges`);let i=/\/(\d+)$/.exec(r.headers.get(`Content-Range`)??``);i!==null&&(this.size=Number(i[1]));let a=await ta(r,e);this.read+=a.length,this.done=a.length<e||this.size!==void 0&&this.read>=this.size;let o=this.#e+this.#t.decode(a,{stream:!this.done}),s=this.done?o.length:o.lastIndexOf(`
`)+1||o.length;this.pieces.push(o.slice(0,s)),this.#e=o.slice(s)}};async function ta(e,t){let n=e.body?.getReader();if(n===void 0)return new Uint8Array(await e.arrayBuffer()).subarray(0,t);let r=new Uint8Array(t),i=0;for(;i<t;){let{done:e,value:a}=await n.read();if(e)return r.subarray(0,i);let o=a.subarray(0,t-i);r.set(o,i),i+=o.length}return n.cancel(),r}var na=65536,ra=2048,ia=500,q=class extends x{constructor(...e){super(...e),this.asset=void 0,this.refusal=void 0,this.size=`inline`,this.zoom=0,this.broken=!1,this.natural=void 0,this.file=void 0,this.pieces=0,this.bytes=void 0,this.#t=!1,this.#n={x:.5,y:.5}}static{this.styles=[A,h`
      :host {
        min-width: 0;
      }
      figure {
        display: grid;
        gap: 0.5rem;
        justify-items: center;
        min-height: 0;
        height: 100%;
      }
      img,
      video {
        display: block;
        max-width: 100%;
        border-radius: 0.75rem;
        background: rgb(var(--mdui-color-surface-container-lowest));
      }
      audio {
        width: min(100%, 34rem);
        min-width: 0;
      }
      :host([size="card"]) audio {
        width: calc(100% - 1.5rem);
      }
      figcaption {
        font-size: 0.8125rem;
        color: var(--quiet);
        overflow-wrap: anywhere;
        text-align: center;
      }
      :host([size="inline"]) img,
      :host([size="inline"]) video {
        max-height: min(70vh, 40rem);
        border-radius: 1rem;
      }
      :host([size="inline"]) img {
        height: auto;
      }
      /* Room for the controls of a small video. */
      :host([size="inline"]) video {
        min-width: min(18rem, 100%);
      }
      :host([size="inline"]) figure {
        grid-template-columns: minmax(0, 1fr);
      }
      .enlarges {
        position: relative;
        display: grid;
        justify-items: center;
        max-width: 100%;
        min-width: 0;
        border-radius: 1rem;
        cursor: zoom-in;
      }
      :host([size="inline"]) .text {
        max-height: 20rem;
        width: 100%;
        padding: 1rem 1.5rem;
        background: rgb(var(--mdui-color-surface-container));
      }
      :host([size="inline"]) .details {
        width: 100%;
      }
      :host([size="card"]),
      :host([size="card"]) figure {
        height: 100%;
        width: 100%;
        align-items: center;
      }
      :host([size="card"]) img,
      :host([size="card"]) video {
        width: 100%;
        height: 100%;
        min-height: 0;
        border-radius: 0;
        object-fit: contain;
      }
      :host([size="card"]) img.small {
        object-fit: none;
      }
      :host([size="card"]) .text {
        height: 100%;
        width: 100%;
        overflow: hidden;
        border-radius: 0;
        font-size: 0.75rem;
        mask-image: linear-gradient(#000 60%, transparent);
      }
      :host([size="thumbnail"]) figure {
        aspect-ratio: 1;
        overflow: hidden;
        border-radius: 0.75rem;
        align-items: center;
        background: rgb(var(--mdui-color-surface-container-highest));
      }
      :host([size="thumbnail"]) img {
        width: 100%;
        height: 100%;
        object-fit: cover;
      }
      :host([size="large"]) {
        height: 100%;
      }
      .viewport {
        display: grid;
        grid-template: minmax(0, 1fr) / minmax(0, 1fr);
        place-items: safe center;
        width: 100%;
        height: 100%;
        min-height: 0;
        overflow: auto;
        border-radius: 0.75rem;
      }
      .viewport img {
        border-radius: 0.25rem;
      }
      .viewport.fit img {
        max-width: 100%;
        max-height: 100%;
        min-height: 0;
        min-width: 0;
        object-fit: contain;
      }
      .viewport:not(.fit) {
        cursor: grab;
        grid-template: auto / auto;
      }
      .viewport:not(.fit) img {
        max-width: none;
      }
      :host([size="large"]) video {
        width: 100%;
        height: 100%;
        min-height: 0;
        object-fit: contain;
      }
      :host([size="large"]) figure {
        grid-template: minmax(0, 1fr) / minmax(0, 1fr);
        align-items: center;
      }
      :host([size="large"]) audio {
        align-self: start;
      }
      :host([size="large"]) figure:has(audio) {
        grid-template: 1fr 1fr / minmax(0, 1fr);
      }
      :host([size="large"]) .text {
        width: 100%;
        height: 100%;
        overflow: auto;
      }
      .text {
        padding: 0.75rem 1rem;
        border-radius: 0.75rem;
        overflow: auto;
        background: rgb(var(--mdui-color-surface-container-lowest));
        text-align: start;
      }
      .text pre {
        white-space: pre-wrap;
        overflow-wrap: anywhere;
        unicode-bidi: plaintext;
        font-size: inherit;
        font-family: var(--code);
        line-height: 1.5;
      }
      .text pre + pre {
        content-visibility: auto;
        contain-intrinsic-size: auto 60rem;
      }
      .sign {
        display: grid;
        place-items: center;
        gap: 0.75rem;
        padding: 1rem;
        color: var(--quiet);
        text-align: center;
        overflow-wrap: anywhere;
        min-width: 0;
      }
      .sign > .icon {
        font-size: 2rem;
        color: rgb(var(--mdui-color-primary));
      }
      :host([size="thumbnail"]) .sign {
        padding: 0.25rem;
        font-size: 0.75rem;
      }
      .sign.refused > .icon {
        color: var(--bad);
      }
      .details {
        display: grid;
        grid-template-columns: auto minmax(0, 1fr);
        align-items: center;
        gap: 0.25rem 1rem;
        padding: 1rem;
        border-radius: 1rem;
        border: 1px solid var(--line);
        background: rgb(var(--mdui-color-surface-container));
        text-align: start;
      }
      .details > .icon {
        grid-row: span 3;
        font-size: 2rem;
        color: var(--accent);
      }
      .details.refused > .icon {
        color: var(--bad);
      }
      :host([size="large"]) .details {
        align-self: center;
        justify-self: center;
        max-width: 36rem;
        margin: auto;
      }
      .details strong {
        font-weight: 500;
        overflow-wrap: anywhere;
      }
      .details p {
        color: var(--quiet);
        overflow-wrap: anywhere;
      }
    `]}#e;#t;#n;disconnectedCallback(){super.disconnectedCallback(),this.#e?.abort()}willUpdate(e){if(!e.has(`asset`)&&!e.has(`size`))return;let t=e.get(`asset`);if(e.has(`asset`)&&t?.seq===this.asset?.seq&&t!==void 0)return;this.broken=!1,this.#t=!1,this.natural=void 0,this.file=void 0,this.#e?.abort();let n=this.asset;if(n===void 0||n.refused!==void 0||this.size===`thumbnail`)return;this.bytes=void 0;let r=Hi(n);r===`text`?this.#h(new ea(Zi(n))):(r===`model`||r===`other`)&&this.size!==`card`&&this.#m(n)}render(){let e=this.asset;if(e===void 0)return b;if(e.refused!==void 0)return this.#o(e,e.refused);if(this.broken)return this.#s(e);let t=Hi(e);if(this.size===`thumbnail`&&t!==`image`)return this.#c(e,Ui[t],qi(e));switch(t){case`image`:return this.#r(e);case`audio`:return v`<figure>
          ${this.size===`card`||this.size===`large`?v`<div class="sign">${D(`music`)}</div>`:b}
          <audio controls preload="metadata" src=${Zi(e)} aria-label=${Ki(e)} @error=${this.#f}></audio>
          ${this.#l(e)}
        </figure>`;case`video`:return v`<figure>
          <video controls playsinline preload="metadata" src=${Zi(e)} aria-label=${Ki(e)} @error=${this.#f}></video>
          ${this.#l(e)}
        </figure>`;case`text`:return this.#i(e);default:return this.#a(e)}}#r(e){let t=L(e.metadata,`width`),n=L(e.metadata,`height`),r=t!==void 0&&n!==void 0&&t>0&&n>0,i=this.size===`large`&&this.zoom>0&&this.natural!==void 0?this.zoom:0,a=v`<img
      class=${this.natural!==void 0&&this.natural.width<160&&this.natural.height<160?`small`:``}
      src=${Zi(e)}
      alt=${Ki(e)}
      loading=${this.size===`large`?`eager`:`lazy`}
      decoding="async"
      width=${r&&this.size===`inline`?Math.round(t):b}
      height=${r&&this.size===`inline`?Math.round(n):b}
      style=${E(i>0?{width:`${this.natural.width*i}px`,height:`${this.natural.height*i}px`}:{})}
      draggable="false"
      @error=${this.#f}
      @load=${this.#p}
    />`;return this.size===`inline`?v`<figure>
        <a class="enlarges" href="#/assets/${e.seq}/story" title="Enlarge">${a}<span class="unseen">, enlarge</span></a>
        ${this.#l(e)}
      </figure>`:this.size===`large`?v`<div class="viewport ${i>0?``:`fit`}" tabindex=${i>0?0:b} role="group" aria-label="Picture" @scroll=${this.#u} @pointermove=${this.#d}>${a}</div>`:v`<figure>${a}${this.#l(e)}</figure>`}#i(e){let t=this.file,n=t===void 0||t.read===0&&!t.done,r=n?v`<p role="status">Reading…</p>`:t.pieces.map(e=>v`<pre dir="auto">${e}</pre>`),i=this.size===`card`||t===void 0||t.done||n?b:v`<button class="button plain" type="button" @click=${()=>this.#h(t)}>
            Show more${t.size===void 0?``:` (${It(t.size-t.read)} left)`}
          </button>`;return v`<figure>${v`<div class="text" tabindex=${this.size===`card`?b:0} role="group" aria-label=${Ki(e)}>${r}${i}</div>`}${this.#l(e)}</figure>`}#a(e){let t=Hi(e);if(this.size===`card`)return this.#c(e,Ui[t],$i(e));let n=P(e.metadata)&&Object.keys(e.metadata).length>0?_n(e.metadata,300):``;return v`<div class="details">
      ${D(Ui[t])}
      <strong dir="auto">${j(qi(e),200)}</strong>
      <p><bdi>${j(e.kind,60)}</bdi> · <bdi>${j(e.mediaType,100)}</bdi>${this.bytes===void 0?b:v` · ${It(this.bytes)}`}${n===``?b:v`<br /><code dir="auto">${n}</code>`}</p>
      <p><a href=${Zi(e)} download=${Qi(e)}>Download</a></p>
    </div>`}#o(e,t){return this.size===`thumbnail`||this.size===`card`?this.#c(e,`block`,j(t.message,140),`refused`):v`<div class="details refused">
      ${D(`block`)}
      <strong dir="auto">${j(e.assetId,200)} was refused</strong>
      <p dir="auto">${j(t.message,600)}</p>
      <p><code>${j(t.code,80)}</code></p>
    </div>`}#s(e){let t=`This file cannot be shown: it is missing, or its content does not match its type.`;return this.size===`thumbnail`||this.size===`card`?this.#c(e,`broken`,t):v`<div class="details">
      ${D(`broken`)}
      <strong dir="auto">${j(qi(e),200)}</strong>
      <p>${t}</p>
      <p><bdi>${j(e.kind,60)}</bdi> · <bdi>${j(e.mediaType,100)}</bdi></p>
    </div>`}#c(e,t,n,r=``){return v`<figure>
      <div class="sign ${r}">${D(t)}<span dir="auto">${j(n,160)}</span></div>
      ${this.size===`inline`?this.#l(e):b}
    </figure>`}#l(e){if(this.size!==`inline`)return b;let t=Ji(e);return t===void 0?b:v`<figcaption dir="auto">${j(t,300)}</figcaption>`}updated(e){let t=e.get(`zoom`);if(t===void 0||t===this.zoom||this.zoom===0||this.natural===void 0)return;let n=this.renderRoot.querySelector(`.viewport`);if(n===null)return;let{x:r,y:i}=t===0?{x:.5,y:.5}:this.#n;n.scrollLeft=r*this.natural.width*this.zoom-n.clientWidth/2,n.scrollTop=i*this.natural.height*this.zoom-n.clientHeight/2}#u(e){let t=e.currentTarget;this.#n={x:(t.scrollLeft+t.clientWidth/2)/Math.max(1,t.scrollWidth),y:(t.scrollTop+t.clientHeight/2)/Math.max(1,t.scrollHeight)}}#d(e){if(e.buttons!==1||e.pointerType===`touch`)return;let t=e.currentTarget;t.scrollLeft-=e.movementX,t.scrollTop-=e.movementY}#f(e){if(this.#t){this.broken=!0;return}this.#t=!0;let t=e.target;setTimeout(()=>{t instanceof HTMLMediaElement?t.load():t.setAttribute(`src`,t.src)},ia)}#p(e){let{naturalWidth:t,naturalHeight:n}=e.target;this.natural={width:t,height:n},this.dispatchEvent(new CustomEvent(`measured`,{detail:{width:t,height:n}}))}async#m(e){this.#e=new AbortController;let{signal:t}=this.#e;try{let n=await fetch(Zi(e),{method:`HEAD`,signal:t});if(this.asset!==e)return;let r=n.headers.get(`Content-Length`);n.ok?r!==null&&(this.bytes=Number(r)):this.broken=!0}catch{}}async#h(e){this.file=e,this.#e=new AbortController;let{signal:t}=this.#e;try{await e.more(this.size===`card`?ra:na,t)}catch{!t.aborted&&this.file===e&&(this.broken=!0);return}this.file===e&&++this.pieces}};O([C({attribute:!1})],q.prototype,`asset`,void 0),O([C({attribute:!1})],q.prototype,`refusal`,void 0),O([C({reflect:!0})],q.prototype,`size`,void 0),O([C({type:Number})],q.prototype,`zoom`,void 0),O([w()],q.prototype,`broken`,void 0),O([w()],q.prototype,`natural`,void 0),O([w()],q.prototype,`file`,void 0),O([w()],q.prototype,`pieces`,void 0),O([w()],q.prototype,`bytes`,void 0),q=O([S(`narratoria-asset`)],q);var aa={all:`All`,image:`Images`,audio:`Audio`,video:`Video`,text:`Text`,model:`Models`,other:`Other`,refused:`Refused`},oa=`story`,sa=[.25,.5,1,2,4,8],ca=class extends jt{constructor(...e){super(...e),this.filter=`all`,this.zoom=0,this.isPicture=!1,this.#e=new tn(this),this.#t=1,this.#n=[],this.#r=new Map}static{this.styles=[A,h`
      :host {
        height: 100%;
        overflow: hidden;
      }
      .view {
        display: grid;
        grid-template-rows: auto minmax(0, 1fr);
        height: 100%;
        --edge: clamp(0.75rem, 3vw, 2rem);
      }
      .view > header {
        display: flex;
        flex-wrap: wrap;
        gap: 0.75rem 1.5rem;
        align-items: center;
        padding: 1.25rem var(--edge) 1rem;
      }
      h1 {
        font-size: 1.375rem;
      }
      .gallery {
        overflow: auto;
        padding: 0 var(--edge) 1rem;
        scrollbar-width: thin;
      }
      .shelves {
        display: grid;
        grid-template-columns: repeat(var(--columns), minmax(0, 1fr));
        grid-auto-rows: calc(var(--row) - 1rem);
        gap: 1rem;
      }
      .asset {
        position: relative;
        display: grid;
        grid-template-rows: minmax(0, 1fr) auto;
        overflow: hidden;
        transition:
          transform 160ms,
          border-color 160ms;
      }
      .asset:hover {
        border-color: rgb(var(--mdui-color-outline));
      }
      .asset:focus-within:has(:focus-visible) {
        border-color: var(--accent);
      }
      .frame {
        min-height: 0;
        overflow: hidden;
        background: rgb(var(--mdui-color-surface-container));
      }
      .label {
        padding: 0.75rem 1rem;
        display: grid;
        gap: 0.125rem;
      }
      .label a {
        color: inherit;
        font-weight: 500;
        text-decoration: none;
        outline: none;
      }
      .label a::after {
        content: "";
        position: absolute;
        inset: 0;
        border-radius: inherit;
      }
      .label a:focus-visible::after {
        outline: 2px solid var(--accent);
        outline-offset: -3px;
        border-radius: 1rem;
      }
      /* The link covers the card except the player, which must stay usable. */
      .asset.plays .label a::after {
        top: auto;
        height: 4.25rem;
      }
      .about {
        font-size: 0.75rem;
        color: var(--quiet);
      }
      .badge {
        position: absolute;
        inset-block-start: 0.625rem;
        inset-inline-start: 0.625rem;
        padding: 0.125rem 0.5rem;
        border-radius: 0.5rem;
        font-size: 0.75rem;
        font-weight: 500;
        background: rgb(var(--mdui-color-inverse-surface));
        color: rgb(var(--mdui-color-inverse-on-surface));
      }
      dialog {
        width: 100vw;
        height: 100dvh;
        max-width: none;
        max-height: none;
        margin: 0;
        padding: 0;
        border: 0;
        color: rgb(var(--mdui-color-on-surface));
        background: rgb(var(--mdui-color-surface-container-lowest));
      }
      dialog[open] {
        display: grid;
        overflow: hidden;
        grid-template-columns: minmax(0, 1fr) minmax(18rem, 24rem);
        grid-template-rows: auto minmax(0, 1fr);
      }
      .bar {
        grid-column: 1 / -1;
        display: flex;
        align-items: center;
        gap: 0.25rem;
        padding: 0.5rem 1rem;
      }
      .bar h2 {
        flex: 1;
        font-size: 1.0625rem;
      }
      .alone {
        min-height: 0;
        min-width: 0;
        padding: 0 1rem 1rem;
        display: grid;
        grid-template: minmax(0, 1fr) / minmax(0, 1fr);
      }
      .facts {
        overflow: auto;
        padding: 0.5rem 1.25rem 2rem;
        scrollbar-width: thin;
      }
      dl {
        display: grid;
        grid-template-columns: minmax(5rem, auto) minmax(0, 1fr);
        gap: 0.5rem 1rem;
        margin-bottom: 1rem;
      }
      dt {
        color: var(--quiet);
      }
      dd {
        overflow-wrap: anywhere;
      }
      .facts h3 {
        font-size: 0.875rem;
        color: var(--quiet);
        margin: 1rem 0 0.5rem;
      }
      .metadata {
        padding: 0.75rem 1rem;
        border-radius: 0.75rem;
        background: rgb(var(--mdui-color-surface-container));
      }
      @media (max-width: 799.98px) {
        dialog[open] {
          grid-template-columns: minmax(0, 1fr);
          grid-template-rows: auto 55dvh auto;
          overflow: auto;
        }
        .alone {
          height: 55dvh;
        }
        .facts {
          overflow: visible;
        }
        .bar {
          flex-wrap: wrap;
          gap: 0;
          padding-inline: 0.5rem;
        }
        .bar h2 {
          flex-basis: 100%;
          order: -1;
          padding: 0.5rem;
        }
        .bar .gap {
          flex: 1;
        }
        .bar .icon-button {
          width: 2.25rem;
          height: 2.25rem;
        }
        .bar [role="status"] {
          display: none;
        }
      }
    `]}#e;#t;#n;#r;#i;willUpdate(e){super.willUpdate(e),this.#a();let t=this.clientWidth||800;this.#t=Math.max(1,Math.floor((t-N(2))/N(t<N(40)?13:17))),this.#e.count=Math.ceil(this.#n.length/this.#t),this.#e.rowHeight=N(18),e.has(`path`)&&(this.zoom=0)}#a(){this.#r=new Map,this.#n=[];let e=this.session?.assets??[];for(let t=e.length-1;t>=0;--t){let n=e[t];if(n.replaced!==void 0)continue;let r=n.refused===void 0?Hi(n):`refused`;this.#r.set(r,(this.#r.get(r)??0)+1),(this.filter===`all`||this.filter===r)&&this.#n.push(n)}}render(){let e=[...this.#r.values()].reduce((e,t)=>e+t,0);if(e===0)return At(`image`,`No assets yet`,`Pictures, sounds and other files of the story will appear here.`);let t=[...Vi,`refused`].filter(e=>this.#r.has(e));return v`<div class="view">
        <header>
          <h1>${M(e,`asset`)}</h1>
          ${t.length<2?b:v`<div class="chips" role="group" aria-label="Kinds shown">
                  ${[`all`,...t].map(t=>this.#o(t,t===`all`?e:this.#r.get(t)??0))}
                </div>`}
        </header>
        <div
          class="gallery"
          role="group"
          aria-label="Gallery"
          ${this.#e.attach}
          @scroll=${this.#e.onScroll}
          @keydown=${this.#y}
          style=${E({"--row":`${this.#e.rowHeight}px`,"--columns":String(this.#t)})}
        >
          ${this.#e.drawTogether((e,t)=>this.#c(e,t))}
        </div>
      </div>
      ${this.#d()}`}updated(){let e=this.renderRoot.querySelector(`dialog`),t=this.#u?.seq;if(e===null||t===this.#i)return;let n=this.#i;this.#i=t,t!==void 0&&!e.open&&e.showModal(),t===void 0&&e.open&&e.close(),t===void 0&&n!==void 0&&this.#b(this.#n.findIndex(e=>e.seq===n))}resized(){super.resized(),this.requestUpdate()}#o(e,t){return v`<button class="chip" type="button" aria-pressed=${this.filter===e?`true`:`false`} @click=${()=>this.#s(e)}>
      ${e===`all`?b:D(e===`refused`?`block`:Ui[e])}${aa[e]}
      <span class="number">${t.toLocaleString(`en`)}</span>
    </button>`}#s(e){this.filter=e;let t=this.#e.scroller.value;t!==void 0&&(t.scrollTop=0)}#c(e,t){let n=e*this.#t;return v`<div class="shelves">
      ${T(this.#n.slice(n,t*this.#t),e=>e.seq,(e,t)=>this.#l(e,n+t))}
    </div>`}#l(e,t){let n=Hi(e),r=e.refused===void 0&&(n===`audio`||n===`video`),i=e.refused===void 0?``:`refused`;return v`<article class="asset card ${i} ${r?`plays`:``}" aria-labelledby="name${e.seq}">
      <div class="frame"><narratoria-asset .asset=${e} .refusal=${e.refused} size="card"></narratoria-asset></div>
      <div class="label">
        <a id="name${e.seq}" class="clipped" dir="auto" data-index=${t} href="#/assets/${e.seq}">${j(qi(e),120)}</a>
        <span class="about clipped"><bdi>${j(e.kind,30)}</bdi> · <bdi>${j(e.mediaType,40)}</bdi></span>
        <span class="about clipped"><bdi>${j(e.toolId,24)}</bdi> · <span class="number">${Ri(e.time).slice(0,8)}</span></span>
      </div>
      ${i===``?b:v`<span class="badge">${i}</span>`}
    </article>`}get#u(){let e=Number(this.path[0]),t=this.session?.assets.find(t=>t.seq===e);return t===void 0?void 0:Yi(t)}#d(){let e=this.#u;return v`<dialog aria-labelledby="alone" @close=${this.#_} @cancel=${this.#g} @keydown=${this.#v}>
      ${e===void 0?b:this.#f(e)}
    </dialog>`}#f(e){let t=this.#n.indexOf(e),n=Hi(e)===`image`&&e.refused===void 0&&this.isPicture;return v`<div class="bar">
        <h2 id="alone" class="clipped" dir="auto">${j(qi(e),200)}</h2>
        ${t<0?b:v`<span class="about number">${t+1} of ${this.#n.length}</span>`}
        <button class="icon-button" type="button" aria-label="Previous" title="Previous (←)" ?disabled=${t<=0} @click=${()=>this.#m(-1)}>${D(`left`)}</button>
        <button class="icon-button" type="button" aria-label="Next" title="Next (→)" ?disabled=${t<0||t>=this.#n.length-1} @click=${()=>this.#m(1)}>${D(`right`)}</button>
        <span class="gap"></span>
        ${n?v`<button class="icon-button" type="button" aria-label="Smaller" title="Smaller (−)" @click=${()=>this.#p(-1)}>${D(`remove`)}</button>
                <span class="about number" role="status">${this.zoom===0?`fits`:Lt(this.zoom)}</span>
                <button class="icon-button" type="button" aria-label="Larger" title="Larger (+)" @click=${()=>this.#p(1)}>${D(`add`)}</button>
                <button class="icon-button" type="button" aria-label="Fit to window" title="Fit to window (0)" @click=${()=>this.zoom=0}>${D(`fit`)}</button>`:b}
        ${e.refused===void 0?v`<a class="icon-button" href=${Zi(e)} download=${Qi(e)} aria-label="Download" title="Download">${D(`download`)}</a>`:b}
        <button class="icon-button" type="button" autofocus aria-label="Close" title="Close (Escape)" @click=${this.#h}>${D(`close`)}</button>
      </div>
      <div class="alone">
        <narratoria-asset .asset=${e} .refusal=${e.refused} size="large" .zoom=${this.zoom} @measured=${()=>this.isPicture=!0}></narratoria-asset>
      </div>
      <div class="facts" tabindex="0" role="group" aria-label="Details">
        <dl>
          <dt>Name</dt>
          <dd dir="auto">${j(e.assetId,300)}</dd>
          <dt>Kind</dt>
          <dd dir="auto">${j(e.kind,100)}</dd>
          <dt>Media type</dt>
          <dd><code>${j(e.mediaType,200)}</code></dd>
          <dt>Made by</dt>
          <dd>${e.planKey===void 0?j(e.toolId,100):v`<a dir="auto" href=${Mi(e.planKey,e.toolId)}>${j(e.toolId,100)}</a>`}${e.attempt>1?`, attempt ${e.attempt}`:``}</dd>
          <dt>At</dt>
          <dd class="number">${Ri(e.time)}</dd>
          <dt>File</dt>
          <dd dir="auto"><code>${j(e.path,600)}</code></dd>
          ${e.refused===void 0?b:v`<dt>Refused</dt><dd dir="auto"><code>${e.refused.code}</code> ${j(e.refused.message,600)}</dd>`}
        </dl>
        ${mt([e.metadata],()=>Object.keys(e.metadata).length===0?b:v`<h3>Metadata</h3><narratoria-long-text class="metadata code" verbatim .text=${pn(e.metadata,1e6).text}></narratoria-long-text>`)}
      </div>`}#p(e){let t=this.renderRoot.querySelector(`dialog narratoria-asset`)?.shadowRoot.querySelector(`img`);if(t==null||t.naturalWidth===0)return;let n=this.zoom>0?this.zoom:t.getBoundingClientRect().width/t.naturalWidth,r=e>0?sa.find(e=>e>n*1.01):sa.findLast(e=>e<n*.99);r!==void 0&&(this.zoom=r)}#m(e){let t=this.#u,n=t===void 0?-1:this.#n.indexOf(t),r=n<0?void 0:this.#n[n+e];if(r===void 0)return;this.isPicture=!1;let i=this.path[1]===oa?`/${oa}`:``;history.replaceState(history.state,``,`#/assets/${r.seq}${i}`),dispatchEvent(new HashChangeEvent(`hashchange`))}#h(){on(this.path[1]===oa?`#/narrative`:`#/assets`)}#g(e){e.preventDefault(),this.#h()}#_(){this.#u!==void 0&&this.#h()}#v(e){if(e.altKey||e.ctrlKey||e.metaKey)return;let t=e.composedPath();if(t.some(e=>e instanceof HTMLMediaElement))return;let n=t.some(e=>e instanceof HTMLElement&&e.matches(`.viewport:not(.fit), .text`));switch(e.key){case`ArrowLeft`:case`ArrowRight`:if(n)return;this.#m(e.key===`ArrowLeft`?-1:1);break;case`+`:case`=`:this.#p(1);break;case`-`:this.#p(-1);break;case`0`:this.zoom=0;break;default:return}e.preventDefault()}#y(e){let t=e.composedPath()[0];if(!(t instanceof HTMLElement)||t.dataset.index===void 0||e.altKey||e.ctrlKey||e.metaKey)return;let n=Number(t.dataset.index),r=this.#n.length-1,i={ArrowRight:n+1,ArrowLeft:n-1,ArrowDown:n+this.#t,ArrowUp:n-this.#t,Home:0,End:r}[e.key];i===void 0||i<0||i>r||(e.preventDefault(),this.#b(i))}async#b(e){e<0||(this.#e.reveal(Math.floor(e/this.#t)),await this.updateComplete,this.renderRoot.querySelector(`a[data-index="${e}"]`)?.focus({preventScroll:!0}))}};O([w()],ca.prototype,`filter`,void 0),O([w()],ca.prototype,`zoom`,void 0),O([w()],ca.prototype,`isPicture`,void 0),ca=O([S(`narratoria-assets`)],ca);var la=dt(class extends ft{constructor(){super(...arguments),this.key=b}render(e,t){return this.key=e,t}update(e,[t,n]){return t!==this.key&&(Ct(e),this.key=t),n}});function J(e,t=!1){return(n,r)=>{let{update:i}=n;e in n&&(n.update=function(n){if(n.has(e)){let i=n.get(e),a=this[e];i!==a&&(!t||this.hasUpdated)&&this[r](i,a)}i.call(this,n)})}}var ua=h`:host{--shape-corner:var(--mdui-shape-corner-full);position:relative;display:inline-block;flex-shrink:0;overflow:hidden;text-align:center;border-radius:var(--shape-corner);cursor:pointer;-webkit-tap-highlight-color:transparent;font-size:1.5rem;width:2.5rem;height:2.5rem}:host([variant=standard]){color:rgb(var(--mdui-color-on-surface-variant));--mdui-comp-ripple-state-layer-color:var(--mdui-color-on-surface-variant)}:host([variant=filled]){color:rgb(var(--mdui-color-primary));background-color:rgb(var(--mdui-color-surface-container-highest));--mdui-comp-ripple-state-layer-color:var(--mdui-color-primary)}:host([variant=tonal]){color:rgb(var(--mdui-color-on-surface-variant));background-color:rgb(var(--mdui-color-surface-container-highest));--mdui-comp-ripple-state-layer-color:var(--mdui-color-on-surface-variant)}:host([variant=outlined]){border:.0625rem solid rgb(var(--mdui-color-outline));color:rgb(var(--mdui-color-on-surface-variant));--mdui-comp-ripple-state-layer-color:var(--mdui-color-on-surface-variant)}:host([variant=outlined][pressed]){color:rgb(var(--mdui-color-on-surface));--mdui-comp-ripple-state-layer-color:var(--mdui-color-on-surface)}:host([variant=standard][selected]:not([selected=false i])){color:rgb(var(--mdui-color-primary));--mdui-comp-ripple-state-layer-color:var(--mdui-color-primary)}:host([variant=filled]:not([selectable])),:host([variant=filled][selectable=false i]),:host([variant=filled][selected]:not([selected=false i])){color:rgb(var(--mdui-color-on-primary));background-color:rgb(var(--mdui-color-primary));--mdui-comp-ripple-state-layer-color:var(--mdui-color-on-primary)}:host([variant=tonal]:not([selectable])),:host([variant=tonal][selectable=false i]),:host([variant=tonal][selected]:not([selected=false i])){color:rgb(var(--mdui-color-on-secondary-container));background-color:rgb(var(--mdui-color-secondary-container));--mdui-comp-ripple-state-layer-color:var(
      --mdui-color-on-secondary-container
    )}:host([variant=outlined][selected]:not([selected=false i])){border:none;color:rgb(var(--mdui-color-inverse-on-surface));background-color:rgb(var(--mdui-color-inverse-surface));--mdui-comp-ripple-state-layer-color:var(--mdui-color-inverse-on-surface)}:host([variant=filled][disabled]:not([disabled=false i])),:host([variant=outlined][disabled]:not([disabled=false i])),:host([variant=tonal][disabled]:not([disabled=false i])){background-color:rgba(var(--mdui-color-on-surface),.12);border-color:rgba(var(--mdui-color-on-surface),.12)}:host([disabled]:not([disabled=false i])),:host([loading]:not([loading=false i])){cursor:default;pointer-events:none}:host([disabled]:not([disabled=false i])){color:rgba(var(--mdui-color-on-surface),.38)!important}.button{float:left;width:100%}:host([loading]:not([loading=false i])) .button,:host([loading]:not([loading=false i])) mdui-ripple{opacity:0}.icon,.selected-icon mdui-icon,::slotted(*){font-size:inherit}mdui-circular-progress{display:flex;position:absolute;top:calc(50% - 1.5rem / 2);left:calc(50% - 1.5rem / 2);width:1.5rem;height:1.5rem}:host([variant=filled]:not([disabled])) mdui-circular-progress,:host([variant=filled][disabled=false i]) mdui-circular-progress{stroke:rgb(var(--mdui-color-on-primary))}:host([disabled]:not([disabled=false i])) mdui-circular-progress{stroke:rgba(var(--mdui-color-on-surface),38%)}`,da=class extends K{constructor(){super(...arguments),this.variant=`standard`,this.selectable=!1,this.selected=!1,this.rippleRef=Gt(),this.hasSlotController=new Or(this,`[default]`,`selected-icon`)}get rippleElement(){return this.rippleRef.value}onSelectedChange(){this.emit(`change`)}firstUpdated(e){super.firstUpdated(e),this.addEventListener(`click`,()=>{this.selectable&&!this.disabled&&(this.selected=!this.selected)})}render(){return v`<mdui-ripple ${Jt(this.rippleRef)} .noRipple="${this.noRipple}"></mdui-ripple>${this.isButton()?this.renderButton({className:`button`,part:`button`,content:this.renderIcon()}):this.disabled||this.loading?v`<span part="button" class="button _a">${this.renderIcon()}</span>`:this.renderAnchor({className:`button`,part:`button`,content:this.renderIcon()})} ${this.renderLoading()}`}renderIcon(){return this.selected&&(this.hasSlotController.test(`selected-icon`)||this.selectedIcon)?v`<slot name="selected-icon" part="selected-icon" class="selected-icon"><mdui-icon name="${Mr(this.selectedIcon)}"></mdui-icon></slot>`:this.hasSlotController.test(`[default]`)?v`<slot></slot>`:this.icon?v`<mdui-icon part="icon" class="icon" name="${this.icon}"></mdui-icon>`:vn}};da.styles=[K.styles,ua],z([C({reflect:!0})],da.prototype,`variant`,void 0),z([C({reflect:!0})],da.prototype,`icon`,void 0),z([C({reflect:!0,attribute:`selected-icon`})],da.prototype,`selectedIcon`,void 0),z([C({type:Boolean,reflect:!0,converter:B})],da.prototype,`selectable`,void 0),z([C({type:Boolean,reflect:!0,converter:B})],da.prototype,`selected`,void 0),z([J(`selected`,!0)],da.prototype,`onSelectedChange`,null),da=z([S(`mdui-button-icon`)],da);var fa=0,pa=()=>++fa,ma=h`:host{--shape-corner-indicator:var(--mdui-shape-corner-full);position:relative;z-index:0;flex:1;overflow:hidden;min-width:3rem;--mdui-comp-ripple-state-layer-color:var(--mdui-color-on-surface-variant)}.container{display:flex;flex-direction:column;align-items:center;justify-content:center;height:100%;text-decoration:none;cursor:pointer;-webkit-user-select:none;user-select:none;-webkit-tap-highlight-color:transparent;padding-top:.75rem;padding-bottom:.75rem}.container:not(.initial){transition:padding var(--mdui-motion-duration-short4) var(--mdui-motion-easing-standard)}mdui-ripple{z-index:1;left:50%;transform:translateX(-50%);width:4rem;height:2rem;margin-top:.75rem;border-radius:var(--mdui-shape-corner-full)}mdui-ripple:not(.initial){transition:margin-top var(--mdui-motion-duration-short4) var(--mdui-motion-easing-standard)}.indicator{position:relative;display:flex;align-items:center;justify-content:center;background-color:transparent;border-radius:var(--shape-corner-indicator);height:2rem;width:2rem}:not(.initial) .indicator{transition:background-color var(--mdui-motion-duration-short1) var(--mdui-motion-easing-standard),width var(--mdui-motion-duration-short4) var(--mdui-motion-easing-standard)}::slotted([slot=badge]){position:absolute;transform:translate(50%,-50%)}::slotted([slot=badge][variant=small]){transform:translate(.5625rem,-.5625rem)}.active-icon,.icon{color:rgb(var(--mdui-color-on-surface-variant));font-size:1.5rem}.active-icon mdui-icon,.icon mdui-icon,::slotted([slot=active]),::slotted([slot=icon]){font-size:inherit}.icon{display:flex}.active-icon{display:none}.label{display:flex;align-items:center;height:1rem;color:rgb(var(--mdui-color-on-surface-variant));margin-top:.25rem;margin-bottom:.25rem;font-size:var(--mdui-typescale-label-medium-size);font-weight:var(--mdui-typescale-label-medium-weight);letter-spacing:var(--mdui-typescale-label-medium-tracking);line-height:var(--mdui-typescale-label-medium-line-height)}:not(.initial) .label{transition:opacity var(--mdui-motion-duration-short4) var(--mdui-motion-easing-linear)}:host(:not([active])) mdui-ripple.label-visibility-selected,mdui-ripple.label-visibility-unlabeled{margin-top:1.5rem}.container.label-visibility-unlabeled,:host(:not([active])) .container.label-visibility-selected{padding-top:1.5rem;padding-bottom:0}.container.label-visibility-unlabeled .label,:host(:not([active])) .container.label-visibility-selected .label{opacity:0}:host([active]){--mdui-comp-ripple-state-layer-color:var(--mdui-color-on-surface)}:host([active]) .indicator{width:4rem;background-color:rgb(var(--mdui-color-secondary-container))}:host([active]) .active-icon,:host([active]) .icon{color:rgb(var(--mdui-color-on-secondary-container))}:host([active]) .has-active-icon .active-icon{display:flex}:host([active]) .has-active-icon .icon{display:none}:host([active]) .label{color:rgb(var(--mdui-color-on-surface))}`,ha=class extends Yr(xi(Qr(Dr))){constructor(){super(...arguments),this.isInitial=!0,this.active=!1,this.disabled=!1,this.key=pa(),this.rippleRef=Gt(),this.hasSlotController=new Or(this,`active-icon`)}get rippleElement(){return this.rippleRef.value}get rippleDisabled(){return this.disabled}get focusElement(){return this.href?this.renderRoot?.querySelector(`._a`):this}get focusDisabled(){return this.disabled}render(){let e=Nr({"label-visibility-selected":this.labelVisibility===`selected`,"label-visibility-labeled":this.labelVisibility===`labeled`,"label-visibility-unlabeled":this.labelVisibility===`unlabeled`,initial:this.isInitial}),t=Nr([{container:!0,"has-active-icon":this.activeIcon||this.hasSlotController.test(`active-icon`)},e]);return v`<mdui-ripple .noRipple="${!this.active||this.noRipple}" class="${e}" ${Jt(this.rippleRef)}></mdui-ripple>${this.href?this.renderAnchor({part:`container`,className:t,content:this.renderInner()}):v`<div part="container" class="${t}">${this.renderInner()}</div>`}`}renderInner(){return v`<div part="indicator" class="indicator"><slot name="badge" part="badge" class="badge"></slot><slot name="active-icon" part="active-icon" class="active-icon">${this.activeIcon?v`<mdui-icon name="${this.activeIcon}"></mdui-icon>`:vn}</slot><slot name="icon" part="icon" class="icon">${this.icon?v`<mdui-icon name="${this.icon}"></mdui-icon>`:vn}</slot></div><slot part="label" class="label"></slot>`}};ha.styles=[kr,ma],z([C({reflect:!0})],ha.prototype,`icon`,void 0),z([C({reflect:!0,attribute:`active-icon`})],ha.prototype,`activeIcon`,void 0),z([C({reflect:!0})],ha.prototype,`value`,void 0),z([w()],ha.prototype,`labelVisibility`,void 0),z([w()],ha.prototype,`isInitial`,void 0),z([C({type:Boolean,reflect:!0,converter:B})],ha.prototype,`active`,void 0),z([w()],ha.prototype,`disabled`,void 0),ha=z([S(`mdui-navigation-bar-item`)],ha);var ga=new WeakMap,_a=e=>{class t extends e{constructor(...e){super(...e),this.scrollBehaviorDefinedController=new Gr(this,{needDomReady:!0}),this.lastScrollTopThreshold=0,this.lastScrollTopNoThreshold=0,this.isParentLayout=!1,this.onListeningScroll=this.onListeningScroll.bind(this)}get scrollPaddingPosition(){throw Error(`Must implement scrollPaddingPosition getter`)}async onScrollTargetChange(e,t){let n=this.hasUpdated;if(await this.scrollBehaviorDefinedController.whenDefined(),n&&(this.setContainerPadding(`remove`,e),this.setContainerPadding(`add`,t)),!this.scrollBehavior)return;let r=this.getListening(e);r&&r.removeEventListener(`scroll`,this.onListeningScroll);let i=this.getListening(t);i&&(this.updateScrollTop(i),i.addEventListener(`scroll`,this.onListeningScroll))}async onScrollBehaviorChange(){await this.scrollBehaviorDefinedController.whenDefined();let e=this.getListening(this.scrollTarget);e&&(this.scrollBehavior?(this.updateScrollTop(e),e.addEventListener(`scroll`,this.onListeningScroll)):e.removeEventListener(`scroll`,this.onListeningScroll))}connectedCallback(){super.connectedCallback(),this.scrollBehaviorDefinedController.whenDefined().then(()=>{this.isParentLayout=Nn(this.parentElement,`mdui-layout`),this.setContainerPadding(`add`,this.scrollTarget)})}disconnectedCallback(){super.disconnectedCallback(),this.scrollBehaviorDefinedController.whenDefined().then(()=>{this.setContainerPadding(`remove`,this.scrollTarget)})}hasScrollBehavior(e){let t=this.scrollBehavior?.split(` `)??[];return Array.isArray(e)?!!t.filter(t=>e.includes(t)).length:t.includes(e)}runScrollThreshold(e,t){}runScrollNoThreshold(e,t){}setContainerPadding(e,t){let n=this.getContainer(t);if(!n||this.isParentLayout)return;let r=this.scrollPaddingPosition,i=r===`top`?`paddingTop`:`paddingBottom`;if(e===`add`||e===`update`){let t=[`fixed`,`absolute`].includes(G(this).css(`position`))?this.offsetHeight:null;if(G(n).css({[i]:t}),e===`add`&&t!==null){let e=ga.get(n)??{top:[],bottom:[]};e[r].push(this),ga.set(n,e)}}if(e===`remove`){let e=ga.get(n);if(!e)return;let t=e[r].indexOf(this);t>-1&&(e[r].splice(t,1),ga.set(n,e)),e[r].length||G(n).css({[i]:null})}}onListeningScroll(){let e=this.getListening(this.scrollTarget);window.requestAnimationFrame(()=>this.onScroll(e))}onScroll(e){let t=e.scrollY??e.scrollTop;this.lastScrollTopNoThreshold!==t&&(this.runScrollNoThreshold(t<this.lastScrollTopNoThreshold,t),this.lastScrollTopNoThreshold=t),Math.abs(t-this.lastScrollTopThreshold)>(this.scrollThreshold||0)&&(this.runScrollThreshold(t<this.lastScrollTopThreshold,t),this.lastScrollTopThreshold=t)}updateScrollTop(e){this.lastScrollTopThreshold=this.lastScrollTopNoThreshold=e.scrollY??e.scrollTop}getListening(e){return e?G(e)[0]:window}getContainer(e){return e?G(e)[0]:document.body}}return z([C({attribute:`scroll-target`})],t.prototype,`scrollTarget`,void 0),z([C({reflect:!0,attribute:`scroll-behavior`})],t.prototype,`scrollBehavior`,void 0),z([C({type:Number,reflect:!0,attribute:`scroll-threshold`})],t.prototype,`scrollThreshold`,void 0),z([J(`scrollTarget`)],t.prototype,`onScrollTargetChange`,null),z([J(`scrollBehavior`)],t.prototype,`onScrollBehaviorChange`,null),t},va,ya,ba=(e,t)=>{let n=G(e),r=pa(),i={unobserve:()=>{n.each((e,t)=>{let n=va.get(t),i=n.coArr.findIndex(e=>e.key===r);i!==-1&&n.coArr.splice(i,1),n.coArr.length?va.set(t,n):(ya.unobserve(t),va.delete(t))})}};return va||(va=new WeakMap,ya=new ResizeObserver(e=>{e.forEach(e=>{let t=e.target,n=va.get(t);n.entry=e,n.coArr.forEach(t=>{t.callback.call(i,e,i)})})})),n.each((e,n)=>{let a=va.get(n)??{coArr:[]};a.coArr.length&&a.entry&&t.call(i,a.entry,i),a.coArr.push({callback:t,key:r}),va.set(n,a),ya.observe(n)}),i},xa=class{constructor(){this.states=[]}registerMain(e){this.$main=G(e)}unregisterMain(){this.$main=void 0}registerItem(e){let t={element:e};this.states.push(t),t.observeResize=ba(t.element,()=>{this.updateLayout(t.element,{width:this.isNoWidth(t)?0:void 0})}),this.items=void 0,this.resort(),this.updateLayout()}unregisterItem(e){let t=this.states.findIndex(t=>t.element===e);t<0||(this.states[t].observeResize?.unobserve(),this.items=void 0,this.states.splice(t,1),this.states[t]&&this.updateLayout(this.states[t].element))}getItems(){if(!this.items){let e=this.states.map(e=>e.element);this.items=e.sort((e,t)=>{let n=e.compareDocumentPosition(t);return n&Node.DOCUMENT_POSITION_FOLLOWING?-1:n&Node.DOCUMENT_POSITION_PRECEDING?1:0})}return this.items}getMain(){return this.$main?this.$main[0]:void 0}getItemsAndMain(){return[...this.getItems(),this.getMain()].filter(e=>e)}updateOrder(){this.resort(),this.updateLayout()}updateLayout(e,t){let n=e?{element:e,width:t?.width,height:t?.height}:void 0,r=n?this.states.findIndex(e=>e.element===n.element):0;if(r<0)return;Object.assign(this.states[r],n),this.states.forEach((e,t)=>{if(t<r)return;let n=e.element.layoutPlacement,i=t>0?this.states[t-1]:void 0,a=i?.top??0,o=i?.right??0,s=i?.bottom??0,c=i?.left??0;switch(Object.assign(e,{top:a,right:o,bottom:s,left:c}),n){case`top`:case`bottom`:e[n]+=e.height??e.element.offsetHeight;break;case`right`:case`left`:e[n]+=(this.isNoWidth(e)?0:e.width)??e.element.offsetWidth}e.height=e.width=void 0,G(e.element).css({position:`absolute`,top:n===`bottom`?null:a,right:n===`left`?null:o,bottom:n===`top`?null:s,left:n===`right`?null:c})});let i=this.states[this.states.length-1];this.$main&&this.$main.css({paddingTop:i.top,paddingRight:i.right,paddingBottom:i.bottom,paddingLeft:i.left})}resort(){let e=this.getItems();this.states.sort((t,n)=>{let r=t.element.order??0,i=n.element.order??0;return r>i?1:r<i?-1:e.indexOf(t.element)>e.indexOf(n.element)?1:e.indexOf(t.element)<e.indexOf(n.element)?-1:0})}isNoWidth(e){return Nn(e.element,`mdui-navigation-drawer`)&&e.element.isModal}},Sa=new WeakMap,Ca=e=>(Sa.has(e)||Sa.set(e,new xa),Sa.get(e)),wa=class extends Dr{constructor(){super(...arguments),this.isParentLayout=!1}get layoutPlacement(){throw Error(`Must implement placement getter!`)}onOrderChange(){this.layoutManager?.updateOrder()}connectedCallback(){super.connectedCallback();let e=this.parentElement;this.isParentLayout=Nn(e,`mdui-layout`),this.isParentLayout&&(this.layoutManager=Ca(e),this.layoutManager.registerItem(this))}disconnectedCallback(){super.disconnectedCallback(),this.layoutManager&&this.layoutManager.unregisterItem(this)}};z([C({type:Number,reflect:!0})],wa.prototype,`order`,void 0),z([J(`order`,!0)],wa.prototype,`onOrderChange`,null);var Ta=h`:host{--shape-corner:var(--mdui-shape-corner-none);--z-index:2000;position:fixed;right:0;bottom:0;left:0;display:flex;flex:0 0 auto;overflow:hidden;border-radius:var(--shape-corner) var(--shape-corner) 0 0;z-index:var(--z-index);transition:transform var(--mdui-motion-duration-long2) var(--mdui-motion-easing-emphasized);height:5rem;background-color:rgb(var(--mdui-color-surface));box-shadow:var(--mdui-elevation-level2)}:host([scroll-target]:not([scroll-target=''])){position:absolute}:host([hide]:not([hide=false i])){transform:translateY(5.625rem);transition-duration:var(--mdui-motion-duration-short4)}`,Y=class extends _a(wa){constructor(){super(...arguments),this.hide=!1,this.labelVisibility=`auto`,this.activeKey=0,this.isInitial=!0,this.definedController=new Gr(this,{relatedElements:[`mdui-navigation-bar-item`]})}get scrollPaddingPosition(){return`bottom`}get layoutPlacement(){return`bottom`}async onActiveKeyChange(){await this.definedController.whenDefined();let e=this.items.find(e=>e.key===this.activeKey);this.value=e?.value,this.isInitial||this.emit(`change`)}async onValueChange(){this.isInitial=!this.hasUpdated,await this.definedController.whenDefined();let e=this.items.find(e=>e.value===this.value);this.activeKey=e?.key??0,this.updateItems()}async onLabelVisibilityChange(){await this.definedController.whenDefined(),this.updateItems()}firstUpdated(e){super.firstUpdated(e),this.addEventListener(`transitionend`,e=>{e.target===this&&this.emit(this.hide?`hidden`:`shown`)})}render(){return v`<slot @slotchange="${this.onSlotChange}" @click="${this.onClick}"></slot>`}runScrollThreshold(e){!e&&!this.hide&&this.emit(`hide`,{cancelable:!0})&&(this.hide=!0),e&&this.hide&&this.emit(`show`,{cancelable:!0})&&(this.hide=!1)}onClick(e){if(e.button)return;let t=e.target.closest(`mdui-navigation-bar-item`);t&&(this.activeKey=t.key,this.isInitial=!1,this.updateItems())}updateItems(){let e=this.items,t=this.labelVisibility===`auto`?e.length<=3?`labeled`:`selected`:this.labelVisibility;e.forEach(e=>{e.active=this.activeKey===e.key,e.labelVisibility=t,e.isInitial=this.isInitial})}async onSlotChange(){await this.definedController.whenDefined(),this.updateItems()}};Y.styles=[kr,Ta],z([C({type:Boolean,reflect:!0,converter:B})],Y.prototype,`hide`,void 0),z([C({reflect:!0,attribute:`label-visibility`})],Y.prototype,`labelVisibility`,void 0),z([C({reflect:!0})],Y.prototype,`value`,void 0),z([C({reflect:!0,attribute:`scroll-behavior`})],Y.prototype,`scrollBehavior`,void 0),z([w()],Y.prototype,`activeKey`,void 0),z([lt({selector:`mdui-navigation-bar-item`,flatten:!0})],Y.prototype,`items`,void 0),z([J(`activeKey`,!0)],Y.prototype,`onActiveKeyChange`,null),z([J(`value`)],Y.prototype,`onValueChange`,null),z([J(`labelVisibility`,!0)],Y.prototype,`onLabelVisibilityChange`,null),Y=z([S(`mdui-navigation-bar`)],Y);var Ea=h`:host{--shape-corner-indicator:var(--mdui-shape-corner-full);position:relative;z-index:0;width:100%;--mdui-comp-ripple-state-layer-color:var(--mdui-color-on-surface-variant)}.container{display:flex;flex-direction:column;align-items:center;justify-content:center;text-decoration:none;cursor:pointer;-webkit-user-select:none;user-select:none;-webkit-tap-highlight-color:transparent;height:3.5rem}.container:not(.initial){transition:padding var(--mdui-motion-duration-short4) var(--mdui-motion-easing-standard)}mdui-ripple{z-index:1;width:3.5rem;height:2rem;border-radius:var(--mdui-shape-corner-full)}.container:not(.has-label)+mdui-ripple{height:3.5rem}.indicator{position:relative;display:flex;align-items:center;justify-content:center;background-color:transparent;border-radius:var(--shape-corner-indicator);height:2rem;width:2rem}:not(.initial) .indicator{transition:background-color var(--mdui-motion-duration-short1) var(--mdui-motion-easing-standard),width var(--mdui-motion-duration-short4) var(--mdui-motion-easing-standard),height var(--mdui-motion-duration-short4) var(--mdui-motion-easing-standard)}::slotted([slot=badge]){position:absolute;transform:translate(50%,-50%)}.placement-right::slotted([slot=badge]){transform:translate(-50%,-50%)}::slotted([slot=badge][variant=small]){transform:translate(.5625rem,-.5625rem)}.placement-right::slotted([slot=badge][variant=small]){transform:translate(-.5625rem,-.5625rem)}.active-icon,.icon{color:rgb(var(--mdui-color-on-surface-variant));font-size:1.5rem}.active-icon mdui-icon,.icon mdui-icon,::slotted([slot=active-icon]),::slotted([slot=icon]){font-size:inherit}.icon{display:flex}.active-icon{display:none}.label{display:flex;align-items:center;height:1rem;color:rgb(var(--mdui-color-on-surface-variant));margin-top:.25rem;margin-bottom:.25rem;font-size:var(--mdui-typescale-label-medium-size);font-weight:var(--mdui-typescale-label-medium-weight);letter-spacing:var(--mdui-typescale-label-medium-tracking);line-height:var(--mdui-typescale-label-medium-line-height)}:not(.initial) .label{transition:opacity var(--mdui-motion-duration-short4) var(--mdui-motion-easing-linear)}:host([active]){--mdui-comp-ripple-state-layer-color:var(--mdui-color-on-surface)}:host([active]) .indicator{width:3.5rem;background-color:rgb(var(--mdui-color-secondary-container))}:host([active]) :not(.has-label) .indicator{height:3.5rem}:host([active]) .active-icon,:host([active]) .icon{color:rgb(var(--mdui-color-on-secondary-container))}:host([active]) .has-active-icon .active-icon{display:flex}:host([active]) .has-active-icon .icon{display:none}:host([active]) .label{color:rgb(var(--mdui-color-on-surface))}`,Da=class extends Yr(xi(Qr(Dr))){constructor(){super(...arguments),this.active=!1,this.isInitial=!0,this.placement=`left`,this.disabled=!1,this.key=pa(),this.rippleRef=Gt(),this.hasSlotController=new Or(this,`[default]`,`active-icon`)}get rippleElement(){return this.rippleRef.value}get rippleDisabled(){return this.disabled}get focusElement(){return this.href?this.renderRoot?.querySelector(`._a`):this}get focusDisabled(){return this.disabled}render(){let e=this.hasSlotController.test(`[default]`),t=Nr({container:!0,"has-label":e,"has-active-icon":this.activeIcon||this.hasSlotController.test(`active-icon`),initial:this.isInitial});return v`${this.href?this.renderAnchor({part:`container`,className:t,content:this.renderInner(e)}):v`<div part="container" class="${t}">${this.renderInner(e)}</div>`}<mdui-ripple .noRipple="${!this.active||this.noRipple}" ${Jt(this.rippleRef)}></mdui-ripple>`}renderInner(e){return v`<div part="indicator" class="indicator"><slot name="badge" part="badge" class="${$r({badge:!0,"placement-right":this.placement===`right`})}"></slot><slot name="active-icon" part="active-icon" class="active-icon">${this.activeIcon?v`<mdui-icon name="${this.activeIcon}"></mdui-icon>`:vn}</slot><slot name="icon" part="icon" class="icon">${this.icon?v`<mdui-icon name="${this.icon}"></mdui-icon>`:vn}</slot></div>${e?v`<slot part="label" class="label"></slot>`:b}`}};Da.styles=[kr,Ea],z([C({reflect:!0})],Da.prototype,`icon`,void 0),z([C({reflect:!0,attribute:`active-icon`})],Da.prototype,`activeIcon`,void 0),z([C({reflect:!0})],Da.prototype,`value`,void 0),z([C({type:Boolean,reflect:!0,converter:B})],Da.prototype,`active`,void 0),z([w()],Da.prototype,`isInitial`,void 0),z([w()],Da.prototype,`placement`,void 0),z([w()],Da.prototype,`disabled`,void 0),Da=z([S(`mdui-navigation-rail-item`)],Da);function Oa(e,t,n){return e?t(e):n?.(e)}var ka=h`:host{--shape-corner:var(--mdui-shape-corner-none);--z-index:2000;position:fixed;top:0;bottom:0;left:0;display:flex;flex-direction:column;align-items:center;border-radius:0 var(--shape-corner) var(--shape-corner) 0;z-index:var(--z-index);width:5rem;background-color:rgb(var(--mdui-color-surface));padding:.375rem .75rem}:host([contained]:not([contained=false i])){position:absolute}:host([divider]:not([divider=false i])){border-right:.0625rem solid rgb(var(--mdui-color-surface-variant));width:5.0625rem}:host([placement=right]){left:initial;right:0;border-radius:var(--shape-corner) 0 0 var(--shape-corner)}:host([placement=right][divider]:not([divider=false i])){border-right:none;border-left:.0625rem solid rgb(var(--mdui-color-surface-variant))}.bottom,.items,.top{display:flex;flex-direction:column;align-items:center;width:100%}.top{margin-bottom:1.75rem}.bottom{margin-top:1.75rem}::slotted([slot=bottom]),::slotted([slot=top]),::slotted(mdui-navigation-rail-item){margin-top:.375rem;margin-bottom:.375rem}:host([alignment=start]) .top-spacer{flex-grow:0}:host([alignment=start]) .bottom-spacer{flex-grow:1}:host([alignment=end]) .top-spacer{flex-grow:1}:host([alignment=end]) .bottom-spacer{flex-grow:0}:host([alignment=center]){justify-content:center}:host([alignment=center]) .bottom,:host([alignment=center]) .top{position:absolute}:host([alignment=center]) .top{top:.375rem}:host([alignment=center]) .bottom{bottom:.375rem}`,X=class extends wa{constructor(){super(...arguments),this.placement=`left`,this.alignment=`start`,this.contained=!1,this.divider=!1,this.activeKey=0,this.hasSlotController=new Or(this,`top`,`bottom`),this.definedController=new Gr(this,{relatedElements:[`mdui-navigation-rail-item`]}),this.isInitial=!0}get layoutPlacement(){return this.placement}get parentTarget(){return this.contained||this.isParentLayout?this.parentElement:document.body}get isRight(){return this.placement===`right`}get paddingValue(){return[`fixed`,`absolute`].includes(G(this).css(`position`))?this.offsetWidth:void 0}async onActiveKeyChange(){await this.definedController.whenDefined();let e=this.items.find(e=>e.key===this.activeKey);this.value=e?.value,this.isInitial||this.emit(`change`)}async onValueChange(){this.isInitial=!this.hasUpdated,await this.definedController.whenDefined();let e=this.items.find(e=>e.value===this.value);this.activeKey=e?.key??0,this.updateItems()}async onContainedChange(){this.isParentLayout||(await this.definedController.whenDefined(),G(document.body).css({paddingLeft:this.contained||this.isRight?null:this.paddingValue,paddingRight:this.contained||!this.isRight?null:this.paddingValue}),G(this.parentElement).css({paddingLeft:this.contained&&!this.isRight?this.paddingValue:null,paddingRight:this.contained&&this.isRight?this.paddingValue:null}))}async onPlacementChange(){await this.definedController.whenDefined(),this.layoutManager?.updateLayout(this),this.items.forEach(e=>{e.placement=this.placement}),this.isParentLayout||G(this.parentTarget).css({paddingLeft:this.isRight?null:this.paddingValue,paddingRight:this.isRight?this.paddingValue:null})}connectedCallback(){super.connectedCallback(),this.isParentLayout||this.definedController.whenDefined().then(()=>{G(this.parentTarget).css({paddingLeft:this.isRight?null:this.paddingValue,paddingRight:this.isRight?this.paddingValue:null})})}disconnectedCallback(){super.disconnectedCallback(),!this.isParentLayout&&this.definedController.isDefined()&&G(this.parentTarget).css({paddingLeft:this.isRight?void 0:null,paddingRight:this.isRight?null:void 0})}render(){let e=this.hasSlotController.test(`top`),t=this.hasSlotController.test(`bottom`);return v`${Oa(e,()=>v`<slot name="top" part="top" class="top"></slot>`)} <span class="top-spacer"></span><slot part="items" class="items" @slotchange="${this.onSlotChange}" @click="${this.onClick}"></slot><span class="bottom-spacer"></span> ${Oa(t,()=>v`<slot name="bottom" part="bottom" class="bottom"></slot>`)}`}onClick(e){if(e.button)return;let t=e.target.closest(`mdui-navigation-rail-item`);t&&(this.activeKey=t.key,this.isInitial=!1,this.updateItems())}updateItems(){this.items.forEach(e=>{e.active=this.activeKey===e.key,e.placement=this.placement,e.isInitial=this.isInitial})}async onSlotChange(){await this.definedController.whenDefined(),this.updateItems()}};X.styles=[kr,ka],z([C({reflect:!0})],X.prototype,`value`,void 0),z([C({reflect:!0})],X.prototype,`placement`,void 0),z([C({reflect:!0})],X.prototype,`alignment`,void 0),z([C({type:Boolean,reflect:!0,converter:B})],X.prototype,`contained`,void 0),z([C({type:Boolean,reflect:!0,converter:B})],X.prototype,`divider`,void 0),z([w()],X.prototype,`activeKey`,void 0),z([lt({selector:`mdui-navigation-rail-item`,flatten:!0})],X.prototype,`items`,void 0),z([J(`activeKey`,!0)],X.prototype,`onActiveKeyChange`,null),z([J(`value`)],X.prototype,`onValueChange`,null),z([J(`contained`,!0)],X.prototype,`onContainedChange`,null),z([J(`placement`,!0)],X.prototype,`onPlacementChange`,null),X=z([S(`mdui-navigation-rail`)],X);var Aa=2,ja=3e4,Ma=4e4,Na=1e3,Pa=15e3,Fa=class{#e;#t;#n;#r;#i;#a;#o;#s;#c;#l;#u;#d;#f;#p;constructor(e,t=za()){this.status=`opening`,this.isReplaced=!1,this.#r=Na,this.#c=``,this.#d=0,this.#f=!1,this.#p=-1,this.#t=e,this.#n=t,this.#s=t.onVisibility(()=>this.#O()),this.#O()}open(){this.#_();let e=this.#n.openSource(this.#m());this.#e=e,this.#g(),e.onopen=()=>{this.#g(),this.#r=Na,this.#h(`open`),this.#u===`leader`&&this.#l?.send({what:`status`,status:`open`})},e.onerror=()=>this.#T(e),e.addEventListener(`alive`,()=>this.#g()),e.addEventListener(`session`,t=>this.#v(e,t.data)),e.onmessage=t=>this.#y(e,t.data)}retry(){this.#r=Na,this.open()}dispose(){this.#s(),this.#a?.(),this.#x(),this.#_()}#m(){let e=this.#c===``?``:`&game=${encodeURIComponent(this.#c)}`;return`/api/events?after=${this.#t.lastSeq()}${e}`}#h(e){this.status!==e&&(this.status=e,this.#t.status(e))}#g(){this.#o?.(),this.#o=this.#n.later(()=>{this.#w(),this.open()},Ma)}#_(){this.#o?.(),this.#o=void 0,this.#i?.(),this.#i=void 0,this.#e?.close(),this.#e=void 0}#v(e,t){if(e!==this.#e)return;this.#g();let n=Ia(t);if(n===void 0)return;if(this.#c!==``&&n.game!==void 0&&n.game!==this.#c)return this.#E(!0);this.#f=!1,this.#d=Math.max(this.#d,n.last);let r=this.#t.lastSeq(),i=this.#t.opened(n);if(n.last===0&&(this.#p=i),this.#b(n.game??``),i===0&&r>0)return this.open();this.#u===`leader`&&this.#l?.send({what:`opened`,last:n.last}),this.#S()}#y(e,t){if(e!==this.#e)return;this.#g();let n=this.#t.lastSeq(),r=La(t);if(this.#u===`leader`&&(r.at(-1)?.seq??0)>this.#d&&this.#l?.send({what:`records`,data:t}),this.#t.records(r,this.#p===n)!==`all`)return this.#p=this.#t.lastSeq(),this.open();this.#S()}#b(e){if(e===``||this.#l!==void 0&&e===this.#c)return;this.#x(),this.#c=e;let t=this.#n.share(e,e=>{(t===void 0||t===this.#l)&&(this.#u=e,e===`follower`?this.#S():this.#e===void 0&&this.#i===void 0&&this.open())},e=>{t===this.#l&&this.#C(e)});this.#l=t}#x(){this.#l?.leave(),this.#l=void 0,this.#u=void 0}#S(){this.#u!==`follower`||this.#e===void 0||this.status!==`open`||this.#t.lastSeq()<this.#d||(this.#_(),this.#l?.send({what:`request`}))}#C(e){if(e.what===`request`)this.#u===`leader`&&this.#l?.send({what:`opened`,last:this.#t.lastSeq()});else if(this.#u!==`leader`)switch(e.what){case`status`:this.#e===void 0&&this.#h(e.status);return;case`opened`:this.#d=Math.max(this.#d,e.last),this.#e===void 0&&this.#t.lastSeq()<this.#d&&this.open();return;case`records`:{let t=La(e.data);if(this.#d=Math.max(this.#d,t.at(-1)?.seq??0),this.#t.records(t,!1)===`all`)return this.#S();this.#e===void 0&&this.open();return}}}#w(){this.#h(`lost`),this.#u===`leader`&&this.#l?.send({what:`status`,status:`lost`})}#T(e){e===this.#e&&(this.#w(),e.readyState===Aa&&this.#n.probe(this.#m()).then(async t=>{if(e===this.#e){if(t===409)return this.#E(!0);if(t===403){let t=!this.#f&&await this.#n.enter();return e===this.#e?t?(this.#f=!0,this.open()):this.#E(!1):void 0}this.#i=this.#n.later(()=>this.open(),this.#r),this.#r=Math.min(this.#r*2,Pa)}}))}#E(e){this.isReplaced=e,this.#x(),this.#_(),this.#h(`ended`)}#D(){this.isReplaced||this.#c===``||this.#n.probe(this.#m()).then(e=>{e!==409||this.isReplaced||(this.isReplaced=!0,this.#t.status(`ended`))})}#O(){this.#a?.(),this.#a=void 0,this.status===`ended`?this.#n.isHidden()||this.#D():this.#n.isHidden()?this.#a=this.#n.later(()=>{this.#x(),this.#_(),this.#h(`resting`)},ja):this.status===`resting`&&this.open()}};function Ia(e){let t=Ra(e);if(!P(t))return;let n=R(t,`opening`);return{sessionId:I(t,`sessionId`)??``,title:I(t,`title`)??``,after:L(t,`after`)??0,last:L(t,`last`)??0,game:I(t,`game`),language:I(t,`language`),opening:n&&{text:I(n,`text`)??``,choices:un(n,`choices`)},state:R(t,`state`),turns:dn(t,`turns`),interrupted:R(t,`interrupted`)}}function La(e){return e.split(`
`).map(Ra).filter(cn)}function Ra(e){try{return JSON.parse(e)}catch{return}}function za(){return{openSource:e=>new EventSource(e),enter:d,share:e,async probe(e){let t=new AbortController;try{return(await fetch(e,{signal:t.signal})).status}catch{return}finally{t.abort()}},later(e,t){let n=setTimeout(e,t);return()=>clearTimeout(n)},isHidden:()=>document.hidden,onVisibility(e){document.addEventListener(`visibilitychange`,e),addEventListener(`focus`,e);let t=r(e);return()=>{t(),document.removeEventListener(`visibilitychange`,e),removeEventListener(`focus`,e)}}}}function Ba(e,t,n){return{index:e,started:n,narratives:[],untold:[],plans:[],assets:[],warnings:[],entries:[],branches:[],revision:t}}function Va(e){if(e.key!==`Escape`||e.defaultPrevented||e.isComposing||e.repeat||(document.fullscreenElement??null)!==null)return!1;let t=e.composedPath()[0];return t instanceof HTMLInputElement&&t.value!==``?!1:!Ha(document)}function Ha(e){if(e.querySelector(`dialog[open]`)!==null)return!0;for(let t of e.querySelectorAll(`*`))if(t.shadowRoot!==null&&Ha(t.shadowRoot))return!0;return!1}function Ua(e){let t=e.composedPath()[0];return t instanceof HTMLInputElement||t instanceof HTMLTextAreaElement||t instanceof HTMLSelectElement||t instanceof HTMLElement&&t.isContentEditable}var Wa=12,Ga=2e3,Ka=class extends x{constructor(...e){super(...e),this.language=``,this.shown=Wa,this.#e=async()=>{let e=this.shown;this.shown+=48,await this.updateComplete,this.renderRoot.querySelectorAll(`mdui-button`)[e]?.focus()}}static{this.styles=[k,h`
      :host {
        display: block;
        max-height: min(16rem, 38dvh);
        overflow-y: auto;
        overscroll-behavior: contain;
        scrollbar-width: thin;
      }

      .asked {
        margin: 0 0 0.5rem;
        padding-inline: 0.25rem;
        font: italic calc(1rem * var(--text-size, 1)) / 1.5 var(--font-story);
        color: rgb(var(--mdui-color-on-surface-variant));
        overflow-wrap: anywhere;
      }

      ul {
        display: flex;
        flex-wrap: wrap;
        gap: 0.5rem;
        margin: 0 -0.25rem;
        /* Room for the focus ring. */
        padding: 0.25rem;
        list-style: none;
      }

      li {
        display: flex;
        max-width: 100%;
      }

      mdui-button {
        font-family: var(--font-page);
        font-size: calc(0.9375rem * var(--text-size, 1));
        text-align: start;
      }

      mdui-button::part(button) {
        padding-inline: 0.875rem 1.125rem;
      }

      mdui-button::part(label) {
        padding: 0;
        text-align: start;
      }

      @media (max-width: 37.4rem), (max-height: 30rem) {
        ul {
          gap: 0.375rem;
        }

        mdui-button,
        mdui-button::part(button) {
          min-height: 2.25rem;
          padding-block: 0.25rem;
        }
      }

      /* In a low window the choices scroll with the story. */
      @media (max-height: 20rem) {
        :host {
          max-height: none;
        }
      }

      .key {
        display: inline-block;
        min-width: 1.25em;
        margin-inline-end: 0.25em;
        color: rgb(var(--mdui-color-tertiary));
        font-variant-numeric: tabular-nums;
      }

      @media (forced-colors: active) {
        .key {
          color: inherit;
        }
      }
    `]}willUpdate(e){e.has(`offer`)&&(this.shown=Wa)}render(){let e=this.offer;if(e===void 0)return b;let t=e.choices.length-this.shown,n=e.prompt.trim();return v`${n===``?b:v`<p class="asked" dir="auto" lang=${this.language||b}>${j(n,600)}</p>`}
      <ul aria-label="What you can do">
        ${e.choices.slice(0,this.shown).map((e,t)=>v`<li>
              <mdui-button variant="tonal" @click=${()=>this.#t(e)}
                ><span class="key" aria-hidden="true">${t+1}</span><span dir="auto" lang=${this.language||b}
                  >${j(e,Ga)}</span
                ></mdui-button
              >
            </li>`)}
        ${t>0?v`<li><mdui-button variant="text" @click=${this.#e}>${M(t,`more choice`)}</mdui-button></li>`:b}
      </ul>`}#e;#t(e){this.dispatchEvent(new CustomEvent(`prompt`,{detail:e}))}};O([C({attribute:!1})],Ka.prototype,`offer`,void 0),O([C()],Ka.prototype,`language`,void 0),O([w()],Ka.prototype,`shown`,void 0),Ka=O([S(`narratoria-choices`)],Ka);var qa=h`
  :host {
    display: block;
    color: rgb(var(--mdui-color-on-surface-variant));
    overflow-wrap: anywhere;
  }

  p {
    margin: 0 0 0.35em;
    font: italic 0.9375em / 1.6 var(--font-story);
  }

  mdui-button {
    font-family: var(--font-page);
  }

  mdui-button::part(button),
  mdui-button::part(label) {
    padding-inline: 0;
  }

  @media print {
    mdui-button {
      display: none;
    }
  }
`,Ja=class extends x{constructor(...e){super(...e),this.open=!1}static{this.styles=[k,qa]}render(){let e=this.remark;return e===void 0?b:v`${e.words.map(e=>v`<p dir="auto">${e}</p>`)}
    ${this.open&&e.retry!==void 0?v`<mdui-button variant="text" @click=${()=>this.dispatchEvent(new CustomEvent(`retry`))}>Try again</mdui-button>`:b}`}};O([C({attribute:!1})],Ja.prototype,`remark`,void 0),O([C({type:Boolean})],Ja.prototype,`open`,void 0),Ja=O([S(`narratoria-remark`)],Ja);var Ya=200,Xa=class extends x{constructor(...e){super(...e),this.repeats=!1,this.quiet=!1,this.language=``}static{this.styles=[k,qa,h`
      :host {
        margin-top: 1.5rem;
      }

      p:empty {
        margin: 0;
      }
    `]}updated(e){let{button:t}=this;this.repeats&&e.has(`quiet`)&&t?.updateComplete.then(()=>t.focus())}render(){let e=this.prompt;if(e===void 0)return b;let t={resume:e.id,repeats:this.repeats};return v`<p>
        Your last prompt was interrupted: <bdi lang=${this.language||b}>${j(e.text,Ya)}</bdi>
      </p>
      <p role="status">${this.repeats?`A part that should not happen twice had already started. You can also play on without it.`:b}</p>
      ${this.quiet?v`<mdui-button variant="text" @click=${()=>void this.dispatchEvent(new CustomEvent(`move`,{detail:t,bubbles:!0,composed:!0}))}>${this.repeats?`Resume anyway`:`Resume`}</mdui-button>`:b}`}};O([C({attribute:!1})],Xa.prototype,`prompt`,void 0),O([C({type:Boolean})],Xa.prototype,`repeats`,void 0),O([C({type:Boolean})],Xa.prototype,`quiet`,void 0),O([C()],Xa.prototype,`language`,void 0),O([ct(`mdui-button`)],Xa.prototype,`button`,void 0),Xa=O([S(`narratoria-interrupted`)],Xa);var Za=dt(class extends ft{constructor(e){if(super(e),e.type!==ut.PROPERTY&&e.type!==ut.ATTRIBUTE&&e.type!==ut.BOOLEAN_ATTRIBUTE)throw Error("The `live` directive is not allowed on child or event bindings");if(!vt(e))throw Error("`live` bindings can only contain a single expression")}render(e){return e}update(e,[t]){if(t===y||t===b)return t;let n=e.element,r=e.name;if(e.type===ut.PROPERTY){if(t===n[r])return y}else if(e.type===ut.BOOLEAN_ATTRIBUTE){if(!!t===n.hasAttribute(r))return y}else if(e.type===ut.ATTRIBUTE&&n.getAttribute(r)===t+``)return y;return Ct(e),t}});function Qa(e,t,n,r){let i=e.findLast(e=>e.id===n);for(let e=t;i===void 0&&e!==void 0;e=e.previous)to(e)<=n&&(i=e);let a=new Set;for(let e=i;e!==void 0;e=e.previous)a.add(e);for(let t of e){let e=t.isMarker!==!0&&!a.has(t);e!==(t.isUndone??!1)&&(t.isUndone=e,t.revision=r)}return i}function $a(e,t,n){let r=new Map;for(let t of e){let e=r.get(t.previous);e===void 0?r.set(t.previous,[t]):e.push(t)}let i=e=>(r.get(e)??[]).filter(e=>e.isUndone===!0&&(e.movedTo===void 0||r.has(e))),a=e=>{let t=[];for(let r=e;r!==void 0;){let e=i(r);t.push(r),eo(r,e.slice(0,-1).map(a),n),r=e.at(-1)}return t},o=[];for(let e=t;e!==void 0;e=e.previous)o.push(e),eo(e,i(e).map(a),n);return{story:o.reverse(),branches:i(void 0).map(a)}}function eo(e,t,n){(e.branches.length>0||t.length>0)&&(e.revision=n),e.branches=t}function to(e){let t=0,n=e;for(;n!==void 0&&n.id===void 0;n=n.previous)t+=1;return(n?.id??0)+t}function no(e){for(let t=e;t!==void 0;t=t.previous)if(t.prompt!==void 0||t.isLater===!0)return!0;return!1}var ro=300,io=200,ao=120,oo=5;function so(e,t=!1){let n=e.plans.filter(e=>e.success===!1),r=(...t)=>({words:t,retry:e.prompt?.text});switch(e.outcome){case void 0:return;case`cancelled`:return r(t?`You stopped this.`:`This was stopped.`);case`lost`:return r(`The game was closed during this turn.`);case`timeout`:return r(`This took too long and was stopped.`);case`failed`:return n.some(t=>lo(e,t).length>0)?r():r(`It did not work out.`);case`fallback`:return r();default:return n.some(e=>uo(e).length>0)?r():void 0}}function co(e){if(e.ending!==void 0)return j(e.ending,io);let t=e.plans.at(-1);if(e.outcome!==`completed`||t?.success!==!0)return;let n=I(R(t.plan,`metadata`)??{},`ending`)?.trim()??``;return n===``?void 0:j(n,io)}function lo(e,t){let n=new Set(e.narratives.filter(e=>e.pieces!==`retracted`).map(e=>To(e.text.trim())));for(let r of e.plans.slice(0,e.plans.indexOf(t)))if(r.success===!1)for(let e of uo(r))n.add(mo(e));return[...new Set(uo(t).map(mo))].filter(e=>e!==``&&!n.has(e)).slice(0,oo)}function uo(e){return[...e.invocations.values()].filter(po)}function fo(e){return e.plans.flatMap(e=>[...e.invocations.values()])}function po(e){return e.state===`failed`||e.state===`timeout`}function mo(e){let t=(e.summary??``).trim(),n=t===``?(e.errors.at(-1)?.message??``).trim():t;return n===``?``:To(j(n,ro))}function ho(e){let t=fo(e).filter(e=>e.started!==void 0||po(e)).length,n=fo(e).filter(po).length,r=[];return t>0&&r.push(`${M(t,`tool`)} ran`),n>0&&r.push(`${n.toLocaleString(`en`)} failed`),e.warnings.length>0&&r.push(M(e.warnings.length,`warning`)),r.length===0?void 0:r.join(`, `)}function go(e){let t=[];e.outcome===`fallback`&&t.push(Co(e)),e.usage!==void 0&&t.push(_o(e.usage));for(let n of e.assets){if(n.refused===void 0)continue;let e=n.refused.message.trim()===``?n.refused.code:n.refused.message.trim();t.push(`${j(n.toolId,80)}: ${j(n.assetId,80)} could not be shown: ${To(j(e,ro))}`)}for(let n of e.warnings.slice(-vo))t.push(`${n.toolId===void 0?``:`${j(n.toolId,80)}: `}${j(n.message,ro)}`);return t}function _o(e){let t=e=>e.toLocaleString(`en`),n=e.cost===void 0?``:`, for ${e.cost} ${j(e.currency??``,20)}`;return`The narrator took ${t(e.input)} tokens (${t(e.cached)} of them cached) and wrote ${t(e.output)}${n}.`}var vo=20,yo={image:`A picture`,audio:`A sound`,video:`A film`,text:`A text`,model:`A model`,other:`A file`};function bo(e){return`${yo[Hi(e)]} could not be shown.`}function xo(e){if(e.movedTo!==void 0)return no(e)?e.backTo===void 0?`The story goes on from turn ${e.movedTo.toLocaleString(`en`)}.`:`Back to: ${j(e.backTo,ao)}`:`The story goes on from its beginning.`}function So(e){return e===1?`There is one choice: 1.`:`The choices are 1 to ${e}.`}function Co(e){let t=e.plans.filter(e=>e.success===!0&&e.isContinued).length,n=Math.max(e.generations??0,e.plans.length-t);if(t>0)return`The narrator could not continue: ${M(n,`further plan`)} did not work.`;let r=e.plans.length===0?`could be used`:`worked`;return n===0?`The narrator returned no plan.`:n===1?e.plans.length===0?`The narrator's plan could not be used.`:`The narrator's plan did not work.`:`None of the narrator's ${M(n,`plan`)} ${r}.`}function wo(e){let t=e.attempts.length,n=[`${e.state===`timeout`?`did not finish in time`:`failed`}${t>1?` after ${M(t,`try`,`tries`)}`:``}`];if(e.error!==void 0){let t=e.errorCode===void 0?``:`${e.errorCode}: `;n.push(`${t}${e.error}`)}for(let t of e.attempts){if(t.state!==`failed`&&t.state!==`timeout`)continue;let e=t.signal===void 0?t.exitStatus!==void 0&&t.exitStatus!==0?`, exit status ${t.exitStatus}`:``:`, signal ${t.signal}`;n.push(`Try ${t.number}: ${Eo((t.error??t.code??t.state).trim())}${e}.`)}return e.stderr!==void 0&&n.push(e.stderr.trim()),n}function To(e){return/[.。!?…]["'”’»)]*$/u.test(e)?e:`${e}.`}function Eo(e){return e.replace(/[.。!]+$/u,``)}var Do=matchMedia(`(hover: hover) and (pointer: fine)`),Oo=`narratoria-draft`;function ko(){try{return sessionStorage.getItem(Oo)??``}catch{return``}}function Ao(e){try{e===``?sessionStorage.removeItem(Oo):sessionStorage.setItem(Oo,e)}catch{}}var jo=class extends x{constructor(...e){super(...e),this.choices=[],this.ended=!1,this.drawing=0,this.text=ko(),this.#e=0,this.#n=()=>{let e=this.area;e.style.height=`0`,e.style.height=`${Math.max(e.scrollHeight,0)}px`},this.#r=()=>{this.#o(this.area.value),this.#e=0,this.prompts?.forgetRefusal()},this.#i=e=>{e.isComposing||(e.key===`Enter`&&!e.shiftKey&&!e.ctrlKey&&!e.altKey&&!e.metaKey?(e.preventDefault(),this.#l()):e.shiftKey||e.ctrlKey||e.altKey||e.metaKey||(e.key===`ArrowUp`&&(this.text===``||this.#e>0)?this.#a(e,1):e.key===`ArrowDown`&&this.#e>0&&this.#a(e,-1)))},this.#s=()=>{this.prompts?.cancel(),this.area.focus()},this.#c=e=>{e.preventDefault(),this.#l()}}#e;static{this.styles=[k,h`
      :host {
        display: block;
        font: var(--mdui-typescale-body-large-size) / 1.5 var(--font-page);
      }

      form {
        display: flex;
        align-items: end;
        gap: 0.25rem;
        padding: 0.375rem 0.5rem 0.375rem 1.25rem;
        border: 0.0625rem solid rgb(var(--mdui-color-outline));
        border-radius: 1.75rem;
        background: rgb(var(--mdui-color-surface-container));
        transition: border-color 150ms;
      }

      form:focus-within {
        border-color: rgb(var(--mdui-color-primary));
        outline: 0.125rem solid rgb(var(--mdui-color-primary));
        outline-offset: -0.125rem;
      }

      textarea {
        flex: 1;
        min-width: 0;
        height: 2.75rem;
        max-height: min(12rem, 30vh);
        padding: 0.5625rem 0;
        border: 0;
        outline: 0;
        resize: none;
        background: none;
        color: rgb(var(--mdui-color-on-surface));
        caret-color: rgb(var(--mdui-color-primary));
        font: calc(1.0625rem * var(--text-size, 1)) / 1.5 var(--font-story);
      }

      /* The surrounding field shows the focus. */
      textarea:focus-visible {
        outline: 0;
      }

      textarea::placeholder {
        color: rgb(var(--mdui-color-on-surface-variant));
        opacity: 1;
        font-style: italic;
      }

      mdui-button-icon {
        flex: none;
        width: 2.75rem;
        height: 2.75rem;
      }

      .line {
        display: flex;
        align-items: center;
        gap: 0.75rem;
        min-height: 1.25rem;
        margin: 0 1.25rem 0.5rem;
        font: var(--mdui-typescale-body-medium-size) / 1.4 var(--font-page);
        color: rgb(var(--mdui-color-on-surface-variant));
        overflow-wrap: anywhere;
      }

      .refusal {
        color: rgb(var(--mdui-color-error));
      }

      .waiting q {
        font-family: var(--font-story);
        font-style: italic;
        color: rgb(var(--mdui-color-tertiary));
      }
    `]}render(){let e=this.prompts,t=e?.busy??!1,n=this.session?.busy===!0?e?.pending[0]:e?.pending[1];return v`<div role="alert">
        ${e===void 0||e.refusal===``||this.ended?b:v`<div class="line refusal">${e.refusal}</div>`}
      </div>
      <div role="status">
        ${n===void 0?b:v`<div class="line waiting">
              <span>Next: <q dir="auto">${j(n,120)}</q></span>
            </div>`}
      </div>
      <form @submit=${this.#c}>
        <textarea
          rows="1"
          dir="auto"
          aria-label="What do you do?"
          aria-keyshortcuts="Enter Shift+Enter Escape ArrowUp"
          placeholder=${this.#t(t)}
          enterkeyhint="send"
          autocomplete="off"
          autocapitalize="sentences"
          ?disabled=${this.ended}
          .value=${Za(this.text)}
          @input=${this.#r}
          @keydown=${this.#i}
        ></textarea>
        <slot @slotchange=${this.#n}></slot>
        ${t?v`<mdui-button-icon
              class="stop"
              title="Stop (Escape)"
              ?disabled=${e?.isCancelling===!0||this.ended}
              @click=${this.#s}
              >${D(`stop`)}<span class="unseen">Stop</span></mdui-button-icon
            >`:b}
        <mdui-button-icon
          variant="filled"
          title="Send (Enter)"
          ?disabled=${this.text.trim()===``||this.ended}
          @click=${()=>void this.#l()}
          >${D(`send`)}<span class="unseen">Send</span></mdui-button-icon
        >
      </form>`}#t(e){if(this.ended)return`This game is closed.`;if(e)return`And then?`;let t=this.session?.turns.at(-1);return t!==void 0&&co(t)!==void 0?`The story has ended.`:`What do you do?`}focus(){this.area.focus()}firstUpdated(){this.text!==``&&this.#n(),Do.matches&&document.activeElement===document.body&&this.area.focus({preventScroll:!0})}updated(e){e.has(`text`)&&this.#n()}#n;#r;#i;#a(e,t){let n=[];for(let e of this.session?.turns??[]){let t=e.prompt?.text;t!==void 0&&t!==n.at(-1)&&n.push(t)}let r=this.#e+t;r<0||r>n.length||(e.preventDefault(),this.#e=r,this.#o(r===0?``:n.at(-r)??``),this.updateComplete.then(()=>this.area.setSelectionRange(this.text.length,this.text.length)))}#o(e){this.text=e,Ao(e)}#s;#c;async#l(){let e=this.text;if(e.trim()===``||this.ended||this.prompts===void 0)return;let t=this.#u(e);if(t===void 0)return this.prompts.refuse(So(this.choices.length));this.#o(``),this.#e=0,this.area.focus(),this.dispatchEvent(new CustomEvent(`submitted`)),await this.prompts.submit(t)||this.text===``&&this.#o(e)}#u(e){let t=/^\s*([0-9]+)[\s.]*$/.exec(e)?.[1];return t===void 0||this.choices.length===0?e:this.choices[Number(t)-1]}};O([C({attribute:!1})],jo.prototype,`session`,void 0),O([C({attribute:!1})],jo.prototype,`prompts`,void 0),O([C({attribute:!1})],jo.prototype,`choices`,void 0),O([C({type:Boolean})],jo.prototype,`ended`,void 0),O([C({type:Number})],jo.prototype,`drawing`,void 0),O([w()],jo.prototype,`text`,void 0),O([ct(`textarea`)],jo.prototype,`area`,void 0),jo=O([S(`narratoria-prompt-input`)],jo);var Mo=matchMedia(`(prefers-reduced-motion: reduce)`),No=class{#e=0;#t=0;constructor(e,t,n=0){this.host=e,this.isRunning=t,this.interval=n,e.addController(this)}hostUpdated(){if(this.#e!==0||this.#t!==0||!this.isRunning())return;let e=typeof this.interval==`number`?this.interval:this.interval(),t=Mo.matches?Math.max(250,e):e,n=()=>{this.#e=this.#t=0,this.host.getClientRects().length>0?this.host.requestUpdate():this.host.isConnected&&this.isRunning()&&(this.#t=window.setTimeout(n,1e3))};t<17?this.#e=requestAnimationFrame(n):this.#t=window.setTimeout(()=>{this.#t=0,this.#e=requestAnimationFrame(n)},t)}hostDisconnected(){cancelAnimationFrame(this.#e),clearTimeout(this.#t),this.#e=this.#t=0}},Po=24,Fo=3,Io=3e3,Lo=class extends x{constructor(){super(),this.revision=0,this.details=!1,this.isOpen=!1,this.#r=e=>{this.isOpen=e.target.open},new No(this,()=>this.turn!==void 0&&this.turn.outcome===void 0,()=>1e3)}static{this.styles=[k,h`
      :host {
        display: block;
        font: var(--mdui-typescale-label-large-size) / 1.5 var(--font-page);
        color: rgb(var(--mdui-color-on-surface-variant));
      }

      summary {
        display: inline-flex;
        align-items: center;
        gap: 0.375rem;
        min-height: 1.75rem;
        padding-inline-end: 0.5rem;
        border-radius: 0.5rem;
        font-size: 0.8125rem;
        list-style: none;
        cursor: pointer;
      }

      summary::-webkit-details-marker {
        display: none;
      }

      summary:hover .more {
        text-decoration: underline;
      }

      summary .icon {
        width: 1rem;
        height: 1rem;
        transition: transform 120ms;
      }

      details[open] summary .icon {
        transform: rotate(90deg);
      }

      ul {
        display: grid;
        gap: 0.25rem;
        margin: 0.25rem 0 0;
        padding: 0 0 0 0.5rem;
        border-inline-start: 0.0625rem solid rgb(var(--mdui-color-outline-variant));
        list-style: none;
      }

      .tool {
        display: flex;
        flex-wrap: wrap;
        align-items: center;
        column-gap: 0.5rem;
        min-height: 1.75rem;
        overflow-wrap: anywhere;
      }

      .tool a {
        color: rgb(var(--mdui-color-on-surface));
        min-height: 1.5rem;
        text-underline-offset: 0.2em;
      }

      .why {
        flex-basis: 100%;
        margin: 0 0 0.25rem 1.5rem;
        font-family: var(--font-code);
        font-size: var(--mdui-typescale-body-small-size);
      }

      .sign {
        flex: none;
        display: inline-flex;
        width: 1rem;
        height: 1rem;
        font-size: 1rem;
      }

      .completed .sign {
        color: rgb(var(--mdui-color-primary));
      }

      .failed .sign,
      .timeout .sign {
        color: rgb(var(--mdui-color-error));
      }

      .working {
        display: flex;
        flex-wrap: wrap;
        align-items: center;
        column-gap: 0.625rem;
        min-height: 1.75rem;
        overflow-wrap: anywhere;
      }

      .bar {
        flex: none;
        width: 6rem;
        height: 0.25rem;
        border-radius: 0.125rem;
        background: rgb(var(--mdui-color-surface-container-highest));
        overflow: hidden;
      }

      .bar > span {
        display: block;
        height: 100%;
        background: rgb(var(--mdui-color-primary));
        transition: width 120ms linear;
      }

      .ember {
        width: 0.625rem;
        height: 0.625rem;
        margin: auto;
        border-radius: 50%;
        background: rgb(var(--mdui-color-tertiary));
        animation: glow 1.4s ease-in-out infinite;
      }

      .ash {
        width: 0.625rem;
        height: 0.625rem;
        margin: auto;
        border: 0.0625rem solid rgb(var(--mdui-color-outline));
        border-radius: 50%;
      }

      @keyframes glow {
        50% {
          opacity: 0.35;
          transform: scale(0.8);
        }
      }

      @media (prefers-reduced-motion: reduce) {
        .ember {
          animation: none;
        }

        .bar > span,
        summary .icon {
          transition: none;
        }
      }

      @media (forced-colors: active) {
        .bar {
          border: 0.0625rem solid CanvasText;
        }

        .bar > span,
        .ember {
          background: CanvasText;
          forced-color-adjust: none;
        }
      }

      @media print {
        :host {
          display: none;
        }
      }
    `]}willUpdate(e){e.has(`details`)&&(this.isOpen=this.details)}render(){let e=this.turn;if(e===void 0)return b;let t=e.outcome===void 0?this.#e(e):b;if(e.outcome===void 0&&!this.details)return t;let n=ho(e);return v`${t}
      <details ?open=${this.isOpen} @toggle=${this.#r}>
        <summary>${D(`right`)}<span>${n===void 0?``:`${n} · `}<span class="more">details</span></span></summary>
        ${this.isOpen?this.#t(e):b}
      </details>`}#e(e){let t=fo(e).filter(t=>[`running`,`retrying`].includes(zo(e,t)));if(t.length===0)return b;let n=t.filter(e=>e.progress!==void 0).slice(0,Fo);return n.length===0?v`<div class="working"><span class="sign" aria-hidden="true">${Bo(`running`)}</span><span>Working…</span>${Ro(t[0])}</div>`:n.map(e=>{let t=j((e.progressMessage??``).trim(),80);return v`<div class="working">
        <span class="sign" aria-hidden="true">${Bo(`running`)}</span>
        ${t===``?b:v`<span dir="auto">${t}</span>`}
        ${Vo(j(e.toolId,80),e.progress??0)}${Ro(e)}
      </div>`})}#t(e){let t=fo(e),n=e.plans.at(-1);return v`<ul>
      ${t.slice(0,Po).map(t=>this.#n(e,t))}
      ${t.length>Po&&n!==void 0?v`<li class="tool"><a href=${ki(n.key)}>and ${M(t.length-Po,`more tool`)}</a></li>`:b}
      ${go(e).map(e=>v`<li class="tool" dir="auto">${e}</li>`)}
    </ul>`}#n(e,t){let n=zo(e,t),r=j(t.summary??``,120);return v`<li class=${$r({tool:!0,[n]:!0})}>
      <span class="sign" aria-hidden="true">${Bo(n)}</span>
      <a href=${Mi(t.planKey,t.toolId)} dir="auto">${j(t.toolId,80)}</a>
      ${r===``?b:v`<span dir="auto">${r}</span>`}
      <span class="unseen">${n}</span>
      ${po(t)?v`<narratoria-long-text class="why" verbatim .text=${wo(t).join(`
`)}></narratoria-long-text>`:b}
    </li>`}#r};O([C({attribute:!1})],Lo.prototype,`turn`,void 0),O([C({type:Number})],Lo.prototype,`revision`,void 0),O([C({type:Boolean})],Lo.prototype,`details`,void 0),O([w()],Lo.prototype,`isOpen`,void 0),Lo=O([S(`narratoria-tools-line`)],Lo);function Ro(e){let t=Date.now()-(e.started??Date.now());if(t<Io)return b;let n=Math.floor(t/1e3),r=Math.floor(n/60);return v`<span>${r===0?`${n} s`:`${r} min ${n%60} s`}</span>`}function zo(e,t){return e.outcome!==void 0&&t.ended===void 0?`stopped`:t.state}function Bo(e){switch(e){case`completed`:return D(`tick`);case`failed`:case`timeout`:return D(`close`);case`skipped`:return D(`skip`);case`stopped`:return D(`stop`);case`pending`:return v`<span class="ash"></span>`;default:return v`<span class="ember"></span>`}}function Vo(e,t){let n=Math.floor(t*100);return v`<span class="bar" role="progressbar" aria-label=${e} aria-valuemin="0" aria-valuemax="100" aria-valuenow=${n}
      ><span style=${E({width:`${n}%`})}></span></span
    ><span>${n} %</span>`}var Ho=120,Uo=class extends x{constructor(...e){super(...e),this.turns=[],this.details=!1,this.quiet=!1,this.language=``,this.isOpen=!1,this.#e=e=>{this.isOpen=e.target.open,this.isOpen&&this.dispatchEvent(new CustomEvent(`unfold`,{bubbles:!0,composed:!0}))}}static{this.styles=[k,h`
      :host {
        display: block;
        margin-top: 0.5rem;
        color: rgb(var(--mdui-color-on-surface-variant));
        overflow-wrap: anywhere;
      }

      summary {
        display: flex;
        width: fit-content;
        max-width: 100%;
        gap: 0.375rem;
        min-height: 1.75rem;
        padding-inline-end: 0.5rem;
        border-radius: 0.5rem;
        font: var(--mdui-typescale-body-medium-size) / 1.5 var(--font-page);
        list-style: none;
        cursor: pointer;
      }

      summary::-webkit-details-marker {
        display: none;
      }

      summary:hover {
        text-decoration: underline;
      }

      summary .icon {
        flex: none;
        width: 1rem;
        height: 1.5em;
        transition: transform 120ms;
      }

      details[open] > summary .icon {
        transform: rotate(90deg);
      }

      .turns {
        margin: 0.5rem 0 1rem 0.4375rem;
        padding-inline-start: 1rem;
        border-inline-start: 0.0625rem solid rgb(var(--mdui-color-outline-variant));
      }

      narratoria-turn {
        padding-bottom: 1rem;
      }

      @media (prefers-reduced-motion: reduce) {
        summary .icon {
          transition: none;
        }
      }

      @media print {
        details:not([open]) {
          display: none;
        }
      }
    `]}render(){let{turns:e}=this,t=e.find(e=>e.prompt!==void 0)?.prompt?.text;return v`<details ?open=${this.isOpen} @toggle=${this.#e}>
      <summary>${D(`right`)}<span>${M(Wo(e),`undone turn`)}${t===void 0?b:v`: <bdi lang=${this.language||b}>${j(t,Ho)}</bdi>`}</span></summary>
      ${this.isOpen?v`<div class="turns">
            ${T(e,e=>e.index,e=>v`<narratoria-turn
                  .turn=${e}
                  .revision=${e.revision}
                  .newAfter=${2**53-1}
                  .language=${this.language}
                  ?details=${this.details}
                  ?quiet=${this.quiet}
                ></narratoria-turn>`)}
          </div>`:b}
    </details>`}#e};O([C({attribute:!1})],Uo.prototype,`turns`,void 0),O([C({type:Boolean})],Uo.prototype,`details`,void 0),O([C({type:Boolean})],Uo.prototype,`quiet`,void 0),O([C()],Uo.prototype,`language`,void 0),O([w()],Uo.prototype,`isOpen`,void 0),Uo=O([S(`narratoria-undone`)],Uo);function Wo(e){return e.reduce((e,t)=>t.branches.reduce((e,t)=>e+Wo(t),e+ +(t.movedTo===void 0)),0)}var Go=3e3,Ko=60,Z=class extends x{constructor(...e){super(...e),this.revision=0,this.open=!1,this.details=!1,this.stoppedHere=!1,this.newAfter=0,this.saved=!1,this.quiet=!1,this.language=``,this.shown=Ko,this.#e=()=>{this.shown=2**53-1}}static{this.styles=[k,h`
      :host {
        display: block;
        font: 1em / 1.7 var(--font-story);
      }

      article {
        display: flow-root;
      }

      h2 {
        margin: 0 0 1.25em;
        font: italic 400 1em / 1.6 var(--font-story);
        color: rgb(var(--mdui-color-tertiary));
        overflow-wrap: anywhere;
      }

      .words {
        display: block;
        padding-inline-start: 1em;
        border-inline-start: 0.1875rem solid rgb(var(--mdui-color-tertiary));
        white-space: pre-wrap;
      }

      .telling {
        margin: 0 0 1.1em;
        color: rgb(var(--mdui-color-on-surface));
        overflow-wrap: anywhere;
      }

      .telling p {
        margin: 0 0 0.85em;
        white-space: pre-wrap;
        unicode-bidi: plaintext;
        text-wrap: pretty;
        hanging-punctuation: first;
      }

      .telling p:last-child {
        margin-bottom: 0;
      }

      .retracted {
        color: rgb(var(--mdui-color-on-surface-variant));
        text-decoration: line-through;
      }

      .new {
        --reveal: 140%;
        animation: reveal 0.9s cubic-bezier(0.2, 0, 0.4, 1);
        mask-image: linear-gradient(to bottom, #000 calc(var(--reveal) - 40%), #0000 calc(var(--reveal) + 10%));
      }

      @keyframes reveal {
        from {
          --reveal: 20%;
          opacity: 0.4;
        }
        to {
          --reveal: 140%;
          opacity: 1;
        }
      }

      .failure {
        margin: 0 0 1.1em;
        font-style: italic;
        color: rgb(var(--mdui-color-on-surface-variant));
        overflow-wrap: anywhere;
      }

      /* The name between two lines that fade. */
      .ending {
        display: flex;
        align-items: center;
        gap: 1em;
        margin: 2em 0;
        text-align: center;
        overflow-wrap: anywhere;
        color: rgb(var(--mdui-color-tertiary));
      }

      .ending::before,
      .ending::after {
        content: "";
        flex: 1 0 1.5em;
        height: 0.0625rem;
        background: linear-gradient(to right, transparent, rgb(var(--mdui-color-outline)));
      }

      .ending::after {
        transform: scaleX(-1);
      }

      .refused,
      .moved,
      .lack {
        margin: 0 0 1.25rem;
        font: var(--mdui-typescale-body-medium-size) / 1.5 var(--font-page);
        color: rgb(var(--mdui-color-on-surface-variant));
        overflow-wrap: anywhere;
      }

      .undone :is(h2, .telling, .ending) {
        color: rgb(var(--mdui-color-on-surface-variant));
      }

      .undone narratoria-asset {
        opacity: 0.5;
      }

      .undoing {
        display: flex;
        align-items: center;
        gap: 0.75rem;
        margin-bottom: 0.75rem;
      }

      .moves {
        display: flex;
        flex-wrap: wrap;
        margin-inline-start: -0.75rem;
      }

      .moves mdui-button,
      .undoing mdui-button {
        min-width: 0;
        font-family: var(--font-page);
      }

      :is(.moves, .undoing) mdui-button::part(button),
      :is(.moves, .undoing) mdui-button::part(label) {
        padding-inline: 0.375rem;
      }

      narratoria-asset {
        display: block;
        margin: 0 0 1.25em;
      }

      narratoria-tools-line {
        margin: 0 0 1.25rem;
      }

      narratoria-remark {
        margin: 0 0 0.5rem;
      }

      .thinking {
        display: flex;
        align-items: center;
        gap: 0.75rem;
        margin: 0 0 1.25rem;
        font: var(--mdui-typescale-label-large-size) / 1.5 var(--font-page);
        color: rgb(var(--mdui-color-on-surface-variant));
      }

      .dots {
        display: inline-flex;
        gap: 0.3125rem;
      }

      .dots span {
        width: 0.4375rem;
        height: 0.4375rem;
        border-radius: 50%;
        background: rgb(var(--mdui-color-primary));
        animation: breathe 1.5s ease-in-out infinite;
      }

      .dots span:nth-child(2) {
        animation-delay: 0.2s;
      }

      .dots span:nth-child(3) {
        animation-delay: 0.4s;
      }

      @keyframes breathe {
        0%,
        60%,
        100% {
          opacity: 0.25;
        }
        30% {
          opacity: 1;
        }
      }

      .lack summary {
        width: fit-content;
        max-width: 100%;
        min-height: 1.5rem;
        border-radius: 0.25rem;
        cursor: pointer;
      }

      .lack narratoria-long-text {
        margin: 0.25rem 0 0 1rem;
        font-family: var(--font-code);
        font-size: var(--mdui-typescale-body-small-size);
      }

      @media (prefers-reduced-motion: reduce) {
        .new {
          animation: none;
        }

        .dots span {
          animation: none;
          opacity: 0.8;
        }
      }

      @media print {
        article {
          break-inside: auto;
        }

        h2 {
          break-after: avoid;
        }

        .thinking,
        mdui-button {
          display: none;
        }
      }
    `]}connectedCallback(){super.connectedCallback(),addEventListener(`beforeprint`,this.#e)}disconnectedCallback(){super.disconnectedCallback(),removeEventListener(`beforeprint`,this.#e)}render(){let e=this.turn;if(e===void 0)return b;let t=so(e,this.stoppedHere),n=e.entries.filter(t=>Jo(e,t)),r=n.length-this.shown,i=e.plans.some(e=>e.invocations.size>0)||go(e).length>0;return v`<article class=${e.isUndone===!0?`undone`:``} aria-label=${e.prompt===void 0?`The story`:`You: ${j(e.prompt.text,80)}`}>
      ${e.isPast===!0&&e.isLater===!0?v`<p class="moved">Earlier turns are not shown</p>`:b}
      ${e.isUndone===!0?this.#s(e):b}
      ${e.isAgain===!0&&e.isUndone!==!0?v`<p class="moved">Played again</p>`:b}
      ${e.prompt===void 0?b:this.#t(e.prompt.text)}
      ${e.movedTo===void 0?b:v`<p class="moved">${xo(e)}</p>`}
      ${r>0?v`<mdui-button variant="text" @click=${()=>this.shown+=Ko}
            >${M(r,`earlier part`)}</mdui-button
          >`:b}
      ${T(r>0?n.slice(r):n,e=>`${e.what} ${e.seq}`,e=>this.#n(e))}
      ${Yo(e)?Xo():b}
      ${e.isMarker===!0?b:this.#i(co(e))}
      ${t===void 0||t.words.length===0&&!this.#a?b:v`<narratoria-remark
            .remark=${t}
            ?open=${this.#a}
            @retry=${()=>this.dispatchEvent(new CustomEvent(`prompt`,{detail:t.retry??``}))}
          ></narratoria-remark>`}
      ${this.open&&this.saved?this.#o(e):b}
      ${i?v`<narratoria-tools-line .turn=${e} .revision=${e.revision} ?details=${this.details}></narratoria-tools-line>`:b}
    </article>
    ${T(e.branches,e=>e[0].index,e=>v`<narratoria-undone .turns=${e} .language=${this.language} ?details=${this.details} ?quiet=${this.quiet}></narratoria-undone>`)}`}#e;#t(e){let t=e.length>Go?v`<narratoria-long-text .text=${e}></narratoria-long-text>`:e;return v`<h2><span class="unseen">You: </span><span class="words" dir="auto" lang=${this.language||b}>${t}</span></h2>`}#n(e){switch(e.what){case`narrative`:return this.#r(e.narrative);case`asset`:return e.asset.refused===void 0?v`<narratoria-asset
          class=${e.asset.seq>this.newAfter?`new`:``}
          size="inline"
          .asset=${e.asset}
        ></narratoria-asset>`:v`<p class="refused">${bo(e.asset)}</p>`;case`placeholder`:return this.#l(e.placeholder);case`failure`:return lo(this.turn,e.plan).map(e=>v`<p class="failure" dir="auto" lang=${this.language||b}>${e}</p>`);case`plan`:return b}}#r(e){let t=e.pieces===void 0&&e.seq>this.newAfter,n=e.text.length>Go?v`<narratoria-long-text .text=${e.text}></narratoria-long-text>`:Oi(e.text).map(e=>v`<p dir="auto">${e}</p>`);return e.pieces===`retracted`?v`<div class="telling">
        <span class="unseen">Taken back: </span><del class="retracted" lang=${this.language||b}>${n}</del>
      </div>`:v`<div lang=${this.language||b} class="telling ${t?`new`:``}">${n}</div>`}#i(e){return e===void 0?b:v`<p class="ending"><span><span class="unseen">The end: </span><span dir="auto" lang=${this.language||b}>${e}</span></span></p>`}get#a(){return this.open&&!this.saved}#o(e){let t=qo(e);return t.length===0?b:v`<div class="moves">${t.map(([e,t])=>this.#c(e,t))}</div>`}#s(e){return v`<p class="moved undoing"><span>Undone</span>${this.quiet&&e.id!==void 0?this.#c(e.id,`Return here`):b}</p>`}#c(e,t){return v`<mdui-button variant="text" @click=${()=>void this.dispatchEvent(new CustomEvent(`move`,{detail:e,bubbles:!0,composed:!0}))}>${t}</mdui-button>`}#l(e){return v`<details class="lack" ?open=${this.details}>
      <summary>Something here cannot be shown: <bdi>${j(e.event,200)}</bdi></summary>
      ${mt([e],()=>v`<narratoria-long-text verbatim .text=${JSON.stringify(e.payload,null,2)}></narratoria-long-text>`)}
    </details>`}};O([C({attribute:!1})],Z.prototype,`turn`,void 0),O([C({type:Number})],Z.prototype,`revision`,void 0),O([C({type:Boolean})],Z.prototype,`open`,void 0),O([C({type:Boolean})],Z.prototype,`details`,void 0),O([C({type:Boolean})],Z.prototype,`stoppedHere`,void 0),O([C({type:Number})],Z.prototype,`newAfter`,void 0),O([C({type:Boolean})],Z.prototype,`saved`,void 0),O([C({type:Boolean})],Z.prototype,`quiet`,void 0),O([C()],Z.prototype,`language`,void 0),O([w()],Z.prototype,`shown`,void 0),Z=O([S(`narratoria-turn`)],Z);function qo(e){if(!no(e))return[];let t=[[`undo`,`Undo`],[`again`,so(e)===void 0?`Another answer`:`Try again`]];return co(e)!==void 0&&t.push([`restart`,`Start over`]),t}function Jo(e,t){if(t.what===`plan`)return!1;if(t.what!==`asset`)return!0;let n=t.asset;return n.refused===void 0?n.replaced===void 0:!e.assets.some(e=>e.seq>n.seq&&e.planKey===n.planKey&&e.toolId===n.toolId&&e.assetId===n.assetId)}function Yo(e){return e.outcome!==void 0||e.narratives.at(-1)?.pieces===`open`?!1:e.plans.every(e=>e.ended!==void 0)}function Xo(){return v`<div class="thinking">
    <span class="dots" aria-hidden="true"><span></span><span></span><span></span></span>The narrator ponders…
  </div>`}var Zo=24,Qo=24,$o=96,es=matchMedia(`(max-height: 20rem)`),ts=24,ns=class extends x{constructor(...e){super(...e),this.ended=!1,this.shown=Zo,this.isFarUp=!1,this.#e=[],this.#t=!0,this.#n=0,this.#r=0,this.isTouched=!1,this.#i=2**53-1,this.#a=0,this.#o=!1,this.#s=0,this.#g=!1,this.#v=()=>{this.shown=2**53-1,this.performUpdate()},this.#S=()=>{this.isTouched=!0,this.#o=!1},this.#C=()=>{this.#w(),(this.#E()<$o||this.#n>=this.#x()-ts-1)&&(this.#t=!0),this.#D()},this.#O=e=>{if(e.key!==`PageUp`&&e.key!==`PageDown`)return;e.preventDefault(),this.isTouched=!0;let t=.85*this.scroller.clientHeight;this.scroller.scrollBy({top:e.key===`PageUp`?-t:t})},this.#k=()=>{this.#t=!0,this.isTouched=!0,this.region.focus({preventScroll:!0}),this.updateComplete.then(()=>this.scroller.scrollTo({top:this.scroller.scrollHeight}))},this.#M=()=>{this.#t=!1,this.isTouched=!0},this.#N=e=>{e.defaultPrevented||e.isComposing||e.repeat||e.ctrlKey||e.altKey||e.metaKey||e.shiftKey||/^[0-9]$/.test(e.key)&&!Ua(e)&&this.input.focus()}}#e;#t;#n;#r;#i;#a;#o;#s;#c;get scroller(){return es.matches?this:this.region}static{this.styles=[k,h`
      :host {
        display: grid;
        grid-template: minmax(0, 1fr) auto / minmax(0, 1fr);
        height: 100%;
        font-size: calc(clamp(1.0625rem, 0.95rem + 0.35vw, 1.75rem) * var(--text-size, 1));
        background:
          radial-gradient(70rem 34rem at 50% -12rem, rgba(var(--mdui-color-primary-container), 0.55), transparent 70%),
          radial-gradient(40rem 24rem at 50% 110%, rgba(var(--mdui-color-tertiary-container), 0.28), transparent 70%);
      }

      @media screen and (max-height: 20rem) {
        :host {
          grid-template: 1fr auto / minmax(0, 1fr);
          overflow-y: auto;
          /* New text comes above the input, which must not keep its place. */
          overflow-anchor: none;
          scrollbar-color: rgb(var(--mdui-color-outline-variant)) transparent;
        }
      }

      .scroller:focus-visible {
        outline-offset: -0.25rem;
      }

      .scroller {
        position: relative;
        overflow-y: auto;
        overscroll-behavior: contain;
        scrollbar-color: rgb(var(--mdui-color-outline-variant)) transparent;
      }

      /* The page itself keeps the position. Otherwise the browser's changes would be taken for the reader's. */
      .scroller.loading {
        overflow-anchor: none;
      }

      @media (max-height: 20rem) {
        .scroller {
          overflow: visible;
        }
      }

      .column,
      .dock {
        width: 100%;
        max-width: calc(var(--line-width, 36em) + 3rem);
        margin-inline: auto;
      }

      .column {
        padding: 1.5rem 1.5rem 2rem;
      }

      header {
        padding: clamp(1.5rem, 7vh, 5rem) 0 clamp(1.25rem, 5vh, 3rem);
        text-align: center;
      }

      .alone header {
        padding-top: clamp(1.5rem, 14vh, 10rem);
      }

      .alone.opened header {
        padding-top: clamp(1.25rem, 8vh, 6rem);
      }

      .scene {
        padding-bottom: 1.75em;
        font: 1em / 1.7 var(--font-story);
        overflow-wrap: anywhere;
      }

      .scene p {
        margin: 0 0 0.85em;
        white-space: pre-wrap;
        unicode-bidi: plaintext;
        text-wrap: pretty;
      }

      .scene p:last-child {
        margin-bottom: 0;
      }

      .flame {
        width: 2.75em;
        height: 2.75em;
        margin-bottom: 0.75em;
        fill: rgb(var(--mdui-color-tertiary));
        filter: drop-shadow(0 0 1.25rem rgba(var(--mdui-color-tertiary), 0.55));
        transform-origin: 50% 90%;
        /* One minute only: an endless animation would keep an idle page drawing. */
        animation: flicker 5s ease-in-out 12;
      }

      @keyframes flicker {
        0%,
        100% {
          transform: none;
        }
        22% {
          transform: scale(1.02, 0.97) skewX(-1deg);
        }
        41% {
          transform: scale(0.98, 1.04) skewX(1.5deg);
        }
        63% {
          transform: scale(1.01, 0.99) skewX(-0.5deg);
        }
        80% {
          transform: scale(0.99, 1.03) skewX(1deg);
        }
      }

      @media (prefers-reduced-motion: reduce) {
        .flame {
          animation: none;
        }
      }

      h1 {
        margin: 0;
        font: 400 2.1em / 1.2 var(--font-story);
        letter-spacing: -0.01em;
        text-wrap: balance;
        overflow-wrap: anywhere;
        color: rgb(var(--mdui-color-on-surface));
      }

      .invitation {
        margin: 1em 0 0;
        font: italic 400 1.1em / 1.6 var(--font-story);
        color: rgb(var(--mdui-color-on-surface-variant));
      }

      narratoria-turn {
        padding-bottom: 1.75em;
      }

      .scene + narratoria-turn,
      .scene + .chapter > narratoria-turn:first-child,
      narratoria-undone + .chapter > narratoria-turn:first-child,
      .chapter + narratoria-turn,
      .chapter + .chapter > narratoria-turn:first-child,
      narratoria-turn + narratoria-turn {
        padding-top: 2em;
        border-top: 0.0625rem solid;
        border-image: linear-gradient(
            to right,
            transparent,
            rgb(var(--mdui-color-outline-variant)) 30% 70%,
            transparent
          )
          1;
      }

      .chapter:not(:last-of-type) {
        content-visibility: auto;
        contain-intrinsic-size: auto 576rem;
      }

      narratoria-turn:not(:last-of-type) {
        content-visibility: auto;
        contain-intrinsic-size: auto 24rem;
      }

      .column > narratoria-undone {
        margin-bottom: 1.75em;
      }

      .opening {
        display: flex;
        justify-content: center;
        margin-bottom: 1.5rem;
      }

      .below {
        flex: none;
        width: 2.75rem;
        height: 2.75rem;
        color: rgb(var(--mdui-color-primary));
      }

      .dock {
        padding: 0.5rem 1.5rem 1rem;
      }

      narratoria-choices {
        margin-bottom: 0.375rem;
      }

      @media (max-width: 37.4rem) {
        .column {
          padding-inline: 1.125rem;
        }

        .dock {
          padding: 0.25rem 0.75rem 0.5rem;
        }

        .flame {
          width: 2em;
          height: 2em;
        }

        h1 {
          font-size: 1.75em;
        }
      }

      /* On low screens, less space around the title leaves room for the first words. */
      @media (max-height: 44rem) {
        header,
        .alone.opened header {
          padding-block: 1.25rem;
        }

        .opened .flame {
          display: none;
        }
      }

      @media (max-height: 30rem) {
        header,
        .alone header {
          padding-block: 1rem;
        }

        .flame {
          display: none;
        }

        .dock {
          padding-block: 0.25rem 0.375rem;
        }
      }

      /* Print the whole story, and nothing else. */
      @media print {
        :host {
          display: block;
          height: auto;
          background: none;
          font-size: 11.5pt;
        }

        .scroller {
          overflow: visible;
          height: auto;
        }

        .column {
          max-width: none;
          padding: 0;
        }

        header,
        .alone header {
          padding: 0 0 2rem;
        }

        .flame,
        .invitation,
        .dock {
          display: none;
        }

        .chapter:not(:last-of-type),
        narratoria-turn:not(:last-of-type) {
          content-visibility: visible;
        }
      }
    `]}connectedCallback(){super.connectedCallback(),this.#t=!0,this.isTouched=!1,this.#n=0,this.#r=0,this.#i=2**53-1,this.addEventListener(`scroll`,this.#C),addEventListener(`keydown`,this.#N),addEventListener(`beforeprint`,this.#v)}disconnectedCallback(){super.disconnectedCallback(),removeEventListener(`keydown`,this.#N),removeEventListener(`beforeprint`,this.#v),this.#y(),this.#c?.disconnect(),this.#c=void 0}willUpdate(e){if(this.#s+=1,e.has(`session`)||e.has(`prompts`)||e.has(`reading`)||this.#e.length===0){this.#y();let e=()=>this.requestUpdate();for(let t of[this.session,this.prompts,this.reading])t!==void 0&&this.#e.push(t.subscribe(e))}e.has(`session`)&&(this.#i=2**53-1);let t=this.session;t?.caughtUp===!0&&this.#i===2**53-1&&(this.#i=t.lastSeq,this.#a=t.turns.length)}render(){let e=this.session;if(e===void 0)return b;let t=e.caughtUp?e.story:[],n=Math.max(0,t.length-this.shown),r=!e.caughtUp||e.turns.length===0,i=!(this.prompts?.busy??e.busy)&&!this.ended,a=t.at(-1),o=i&&e.caughtUp?this.#f(e):void 0;return v`<div
        class="scroller ${this.isLoading?`loading`:``}"
        tabindex="0"
        role="region"
        aria-label="The story"
        aria-busy=${e.busy?`true`:`false`}
        @scroll=${this.#C}
        @wheel=${this.#S}
        @touchmove=${this.#S}
        @pointerdown=${this.#S}
        @keydown=${this.#S}
      >
        <div class="column ${r?`alone`:``} ${e.opening.text===``?``:`opened`}" @move=${e=>this.#j(e.detail)} @unfold=${this.#M}>
          ${this.#d(e,r)}
          ${e.caughtUp?b:v`<div class="opening">
                <mdui-circular-progress role="progressbar" aria-label="Opening the story"></mdui-circular-progress>
              </div>`}
          ${T(e.caughtUp?e.branches:[],e=>e[0].index,t=>v`<narratoria-undone
                .turns=${t}
                .language=${e.language}
                ?details=${this.reading?.details??!1}
                ?quiet=${i}
              ></narratoria-undone>`)}
          ${T(rs(t,n),e=>e.number,t=>mt([t.turns.length,t.turns.reduce((e,t)=>e+t.revision,0),t.turns.filter(e=>this.prompts?.hasStopped(e)).length,t.turns.at(-1)===a,i&&(t.turns.at(-1)===a||t.turns.some(e=>e.branches.length>0)),this.#i,this.reading?.details,e],()=>v`<div class="chapter">${this.#l(t.turns,i,a)}</div>`))}
          ${e.interrupted===void 0||!e.caughtUp?b:v`<narratoria-interrupted
                .prompt=${e.interrupted}
                .language=${e.language}
                ?repeats=${this.prompts?.needsRepeats??!1}
                ?quiet=${i}
              ></narratoria-interrupted>`}
          ${this.#m(e)}
        </div>
      </div>
      <div class="dock" @keydown=${this.#O} @wheel=${this.#S} @touchmove=${this.#S}>
        ${o===void 0?b:v`<narratoria-choices .offer=${o} .language=${e.language} @prompt=${e=>this.#A(e.detail)}></narratoria-choices>`}
        <narratoria-prompt-input
          .session=${e}
          .prompts=${this.prompts}
          .choices=${o?.choices??[]}
          .drawing=${this.#s}
          ?ended=${this.ended}
          @submitted=${()=>this.#t=!0}
          >${this.isFarUp?this.#u():b}</narratoria-prompt-input
        >
      </div>`}#l(e,t,n){return T(e,e=>e.index,e=>v`<narratoria-turn
          .turn=${e}
          .revision=${e.revision}
          .newAfter=${e===n?this.#i:2**53-1}
          .language=${this.session?.language??``}
          ?open=${t&&e===n}
          ?details=${this.reading?.details??!1}
          ?quiet=${t}
          ?saved=${this.session?.turnId!==void 0&&this.session.storeFault===``}
          ?stoppedHere=${this.prompts?.hasStopped(e)??!1}
          @prompt=${e=>this.#A(e.detail)}
        ></narratoria-turn>`)}#u(){return v`<mdui-button-icon class="below" title="More below" @click=${this.#k}
      >${D(`down`)}<span class="unseen">More below</span></mdui-button-icon
    >`}#d(e,t){return v`<header>
      <svg class="flame" viewBox="0 0 24 24" aria-hidden="true">
        <path
          d="M12.6 1.5c.7 4.100-6.100 6.300-6.100 12a5.600 5.600 0 0 0 11.200.1c0-1.700-.6-3.200-1.500-4.300-.3 1.300-1 2.200-2 2.700 1-3.800.5-8-1.600-10.500z"
        />
      </svg>
      <h1 dir="auto" lang=${e.language||b}>${e.title===``?`A story`:j(e.title,200)}</h1>
      ${t&&e.caughtUp&&e.opening.text===``?v`<p class="invitation">The page is blank. What do you do?</p>`:b}
    </header>
    ${e.opening.text===``?b:v`<section class="scene" aria-label="The beginning">
          ${Oi(e.opening.text).map(t=>v`<p dir="auto" lang=${e.language||b}>${t}</p>`)}
        </section>`}`}#f(e){let t=e.story.length===0?e.opening:e.story.at(-1)?.choices;if(t!==void 0&&t.choices.length!==0)return this.#p?.choices!==t.choices&&(this.#p={prompt:(`prompt`in t?t.prompt:void 0)??``,choices:t.choices}),this.#p}#p;#m(e){let t=e.busy||!e.caughtUp?void 0:this.prompts?.pending[0];if(t===void 0)return b;let n=Ba(-1,0,0);return n.prompt={text:t},v`<narratoria-turn .turn=${n} .language=${e.language}></narratoria-turn>`}firstUpdated(){this.#c=new ResizeObserver(()=>this.#b());let e=this.renderRoot.querySelector(`.column`);e!==null&&this.#c.observe(e),this.#c.observe(this.region),this.#c.observe(this)}updated(){this.#b(),this.#h()}#h(){let e=this.session;e===void 0||!e.caughtUp||this.shown>=e.story.length||this.#g||(this.#g=!0,requestAnimationFrame(()=>{this.#g=!1,this.isConnected&&this.#_(96)}))}#g;async#_(e){let t=this.scroller,n=t.scrollHeight-t.scrollTop;this.shown+=e,await this.updateComplete,this.#t||t.scrollTo({top:t.scrollHeight-n,behavior:`instant`})}#v;#y(){for(let e of this.#e)e();this.#e=[]}#b(){let e=this.scroller;if(this.#w(),this.#t){let t=Math.min(this.#T,Math.max(0,this.#x()-ts)),n=this.isLoading;if(Math.abs(e.scrollTop-t)>1&&(n||t>e.scrollTop)){let r=n||this.#i===2**53-1||t-e.scrollTop>2*e.clientHeight||matchMedia(`(prefers-reduced-motion: reduce)`).matches;this.#r=t,e.scrollTo({top:t,behavior:r?`instant`:`smooth`}),r&&(this.#n=e.scrollTop)}}this.#D()}#x(){let e=this.renderRoot.querySelectorAll(`.column > narratoria-turn, .chapter:last-of-type > narratoria-turn:last-of-type`);return e.item(e.length-1)?.offsetTop??0}#S;#C;#w(){let e=this.scroller.scrollTop,t=e<Math.min(this.#n,this.#T)-1;t&&!this.#o&&(this.#t=!1),(t||e>Math.max(this.#n,this.#r)+1)&&(this.isTouched=!0),this.#n=e}get isLoading(){return!this.isTouched&&this.#a===this.session?.turns.length}get#T(){return this.scroller.scrollHeight-this.scroller.clientHeight}#E(){return this.#T-this.scroller.scrollTop}#D(){let e=this.#E()>$o;e!==this.isFarUp&&Promise.resolve().then(()=>this.isFarUp=e)}#O;#k;#A(e){this.#t=!0,this.prompts?.submit(e),this.input.focus()}#j(e){this.#t=!0,this.#o=!0,this.prompts?.move(e),this.input.focus()}#M;#N};O([C({attribute:!1})],ns.prototype,`session`,void 0),O([C({attribute:!1})],ns.prototype,`prompts`,void 0),O([C({attribute:!1})],ns.prototype,`reading`,void 0),O([C({type:Boolean})],ns.prototype,`ended`,void 0),O([w()],ns.prototype,`shown`,void 0),O([w()],ns.prototype,`isFarUp`,void 0),O([ct(`.scroller`)],ns.prototype,`region`,void 0),O([ct(`narratoria-prompt-input`)],ns.prototype,`input`,void 0),O([w()],ns.prototype,`isTouched`,void 0),ns=O([S(`narratoria-narrative`)],ns);function rs(e,t){let n=[];for(let r=t;r<e.length;){let t=Math.floor(r/Qo),i=(t+1)*Qo;n.push({number:t,turns:e.slice(r,i)}),r=i}return n}var is=5e3,as=class{#e;#t;#n;#r;#i;#a;#o;#s;constructor(e,t=ps){this.pending=[],this.refusal=``,this.isCancelling=!1,this.isMoving=!1,this.needsRepeats=!1,this.#t=new WeakSet,this.#n=0,this.#r=0,this.#o=new Set,this.#e=e,this.#a=t,this.#n=e.turns.length,this.#s=e.subscribe(()=>this.#l())}dispose(){clearTimeout(this.#i),this.#s()}subscribe(e){return this.#o.add(e),()=>this.#o.delete(e)}get busy(){return this.#e.busy||this.pending.length>0||this.isMoving}hasStopped(e){return this.#t.has(e)}async submit(e){let t=e.trim();if(t===``)return!1;this.refusal=``;let n=JSON.stringify({text:t});if(new TextEncoder().encode(n).length>1048576)return this.#u(os);if(this.pending.length+ +!!this.#e.busy>=2)return this.#u(ss);this.pending.push(t),this.#f();let r=await this.#d(`/api/prompt`,n);if(r.status===202)return!0;let i=this.pending.lastIndexOf(t);return i>=0&&this.pending.splice(i,1),this.#u(fs(r))}async cancel(){if(this.isCancelling||!this.busy)return;this.isCancelling=!0,this.refusal=``;let e=this.#e.running;this.#f();let t=await this.#d(`/api/cancel`);t.status===202?e!==void 0&&this.#t.add(e):this.refusal=fs(t),this.isCancelling=!1,this.#f()}async move(e){if(this.busy)return;this.#r=this.#e.lastSeq,this.isMoving=!0,this.refusal=``,this.#f();let t=this.#e.turnId,[n,r]=us(e),i=await this.#d(`/api/${n}`,JSON.stringify({turn:t,...r}));if(i.status===202)return this.#i=setTimeout(()=>this.#c(),is),this.#l();let a=i.code===`NOT_REPEATABLE`;this.needsRepeats||=a,this.#c(a?``:ds(i))}#c(e=``){clearTimeout(this.#i),this.isMoving=!1,this.refuse(e)}refuse(e){this.refusal=e,this.#f()}forgetRefusal(){this.refusal!==``&&(this.refusal=``,this.#f())}reached(){this.refusal===ls&&this.forgetRefusal()}#l(){let e=this.#e.turns;for(;this.#n<e.length;++this.#n){let t=e[this.#n]?.prompt?.text.trim(),n=t===void 0?-1:this.pending.indexOf(t);n>=0&&this.pending.splice(n,1),this.refusal=``,this.isMoving&&this.#c()}let{stray:t}=this.#e;this.isMoving&&t!==void 0&&t.seq>this.#r&&this.#c(t.message),this.#f()}#u(e){return this.refuse(e),!1}async#d(e,t){try{let n=this.#e.game;return await this.#a(n===``?e:`${e}?game=${encodeURIComponent(n)}`,t)}catch{return{status:0,code:``,message:``}}}#f(){for(let e of[...this.#o])e()}},os=`That is too long for one prompt. Shorten it.`,ss=`The story is busy, and your next words are already waiting. Wait for a turn to end.`,cs=`The story is busy, and the next words of another player are already waiting. Wait for a turn to end.`,ls=`The game could not be reached. Your words are still here: send them again.`;function us(e){return typeof e==`number`?[`go`,{to:e}]:typeof e==`object`?[`resume`,{to:e.resume,repeats:e.repeats}]:[e,{}]}function ds(e){return e.status===0?`The game could not be reached. Try again.`:e.code===`BUSY`?`The story is busy. Wait for a turn to end.`:e.code===`OTHER_TURN`?`The story has gone on in the meantime.`:e.code===`NO_TURN`?`There is no such turn.`:e.code===`NOT_POSSIBLE`?`That is not possible with this turn.`:fs(e)}function fs(e){return e.code===`ANOTHER_SESSION`?`This game has ended, and a different one runs here. Reload the page to play it.`:e.code===`BUSY`||e.status===409?cs:e.status===403?`This game has ended. Open the new address.`:e.status===413?os:e.status===0?ls:e.message===``?`The game refused your words (${e.status}).`:e.message}async function ps(e,t){let n=()=>fetch(e,{method:`POST`,...t===void 0?{}:{body:t,headers:{"Content-Type":`application/json`}}}),r=await n();r.status===403&&await d()&&(r=await n());let i={};try{i=await r.json()??{}}catch{}return{status:r.status,code:typeof i.code==`string`?i.code:``,message:typeof i.message==`string`?i.message:``}}var ms=e=>{typeof requestAnimationFrame==`function`?requestAnimationFrame(e):setTimeout(e,16)},hs=class{#e=new Set;#t=!1;#n;constructor(e=ms){this.#n=e}subscribe(e){return this.#e.add(e),()=>this.#e.delete(e)}notify(){this.#t||(this.#t=!0,this.#n(()=>{this.#t=!1;for(let e of[...this.#e])e()}))}},gs=[`debug`,`info`,`warn`,`error`],_s=class{#e=0;#t=new Float64Array;#n=new Float64Array;#r=new Uint16Array;#i=new Uint8Array;#a=[];#o=new Map;get length(){return this.#e}add(e){let t=this.#e;t===this.#t.length&&this.#s(),this.#t[t]=e.seq,this.#n[t]=e.time,this.#r[t]=e.attempt,this.#i[t]=gs.indexOf(e.level),this.#a.push(e.message),e.fields!==void 0&&Object.keys(e.fields).length>0&&this.#o.set(t,e.fields),this.#e=t+1}at(e){if(!(e<0||e>=this.#e))return{seq:this.#t[e],time:this.#n[e],level:this.levelAt(e),message:this.#a[e],fields:this.#o.get(e),attempt:this.#r[e]}}levelAt(e){return gs[this.#i[e]??1]??`info`}*[Symbol.iterator](){for(let e=0;e<this.#e;++e)yield this.at(e)}#s(){let e=Math.max(16,this.#t.length*2);this.#t=vs(new Float64Array(e),this.#t),this.#n=vs(new Float64Array(e),this.#n),this.#r=vs(new Uint16Array(e),this.#r),this.#i=vs(new Uint8Array(e),this.#i)}};function vs(e,t){return e.set(t),e}var ys=class{constructor(){this.copied=0,this.#e=new Set}#e;apply(e,{patch:t,nulls:n}){let r=this.#t(e,t,!1);return n===void 0?r:this.#t(r,n,!0)}#t(e,t,n){let r=e;for(let e of Object.keys(t)){let i=t[e],a=Object.hasOwn(r,e)?r[e]:void 0;if(i===null&&!n){if(a===void 0)continue;r=this.#r(r),delete r[e];continue}let o=P(i)?this.#t(P(a)?a:this.#n(),i,n):i;o!==a&&(r=this.#r(r),r[e]=o)}return r}#n(){let e=Object.create(null);return this.#e.add(e),e}#r(e){if(this.#e.has(e))return e;let t=this.#n();for(let n of Object.keys(e))t[n]=e[n];return this.copied+=Object.keys(e).length,t}};function bs(e,t){let n=Object.create(null),r=Object.create(null);for(let r of Object.keys(e))Object.hasOwn(t,r)||(n[r]=null);for(let i of Object.keys(t)){let a=t[i],o=Object.hasOwn(e,i)?e[i]:void 0;if(P(a)){let e=bs(P(o)?o:{},a);if(P(o)&&Object.keys(e.patch).length===0)continue;n[i]=e.patch,e.nulls!==void 0&&(r[i]=e.nulls)}else JSON.stringify(o)!==JSON.stringify(a)&&(n[i]=a,a===null&&(r[i]=null))}return{patch:n,nulls:Object.keys(r).length===0?void 0:r}}function xs(e){return e===`completed`||e===`fallback`||e===`cancelled`||e===`timeout`}var Ss=50;function Cs(e){return e.at(-51)}function ws(e){let t=[];for(let n of e.slice(-50))t.push(Ts(n,t.length,t.at(-1)));let n=t[0];return n!==void 0&&(n.isLater=e.length>Ss),t}function Ts(e,t,n){let r=Ds(I(e,`ended`)),i=Ba(t,0,Ds(I(e,`began`)));i.id=L(e,`id`),i.previous=n,i.isPast=!0,I(e,`kind`)===`prompt`&&(i.prompt={text:I(e,`prompt`)??``});let a=I(e,`narrative`)??``;if(a!==``){let e={seq:0,text:a,spoken:[{seq:0,text:a}]};i.narratives.push(e),i.entries.push({what:`narrative`,seq:0,narrative:e})}for(let t of dn(e,`assets`)){let e=Es(t,r);i.assets.push(e),i.entries.push({what:`asset`,seq:e.seq,asset:e})}i.ending=I(e,`ending`);let o=un(e,`choices`);o.length>0&&(i.choices={choices:o});let s=I(e,`status`);return i.outcome=xs(s)?s:`completed`,i.ended=r,i.endSeq=0,i}function Es(e,t){return{seq:L(e,`seq`)??0,time:t,planKey:void 0,toolId:I(e,`toolId`)??``,attempt:L(e,`attempt`)??1,assetId:I(e,`assetId`)??``,kind:I(e,`kind`)??``,mediaType:I(e,`mediaType`)??``,path:I(e,`path`)??``,metadata:R(e,`metadata`)??{}}}function Ds(e){let t=Date.parse(e??``);return Number.isNaN(t)?0:t}var Os=`CANCELLED`,ks=class{#e;#t;#n;#r;#i;#a;#o;#s;#c;#l;#u;constructor(e){this.id=``,this.game=``,this.title=``,this.language=``,this.opening={text:``,choices:[]},this.storyFaults=[],this.initialState={},this.lastSeq=0,this.caughtUp=!1,this.version=0,this.storeFault=``,this.turns=[],this.story=[],this.branches=[],this.plans=new Map,this.assets=[],this.patches=[],this.conflicts=[],this.#e=``,this.#r=!1,this.#o=new Map,this.#s=new Map,this.#c=new Map,this.#l=new WeakMap,this.#u=new hs(e)}get running(){let e=this.turns.at(-1);return e!==void 0&&e.outcome===void 0?e:void 0}get busy(){return this.running!==void 0}subscribe(e){return this.#u.subscribe(e)}isAnother(e){return this.id!==``&&e.sessionId!==this.id}open(e){e.sessionId!==``&&(this.id=e.sessionId),this.game=e.game??``,this.title=e.title,this.language=e.language??``,e.opening!==void 0&&(this.opening=e.opening),e.state!==void 0&&(this.initialState=e.state),this.lastSeq===0&&(this.lastSeq=e.after??0),this.turns.length===0&&this.#d(e.turns??[],e.interrupted),this.#a=e.last,this.#f()}take(e,t=!1){let n=`all`;for(let r of e)if(!(r.seq<=this.lastSeq)){if(r.seq>this.lastSeq+1&&!t){n=`gap`;break}this.lastSeq=r.seq,this.id===``&&(this.id=r.sessionId),this.#p(r)}return this.#f(),n}markLost(e){let t=this.running;t!==void 0&&(Is(t,`lost`,this.lastSeq+1,e),this.#f())}#d(e,t){this.#n=Cs(e);for(let t of ws(e))this.#t=t,this.turnId=t.id,this.#g(t),this.assets.push(...t.assets),this.lastSeq=Math.max(this.lastSeq,...t.assets.map(e=>e.seq));t!==void 0&&(this.interrupted={id:L(t,`id`)??0,text:I(t,`prompt`)??``},this.turnId??=0)}#f(){this.caughtUp||=this.#a!==void 0&&this.lastSeq>=this.#a,this.version+=1,this.#u.notify()}#p(e){let t=fn(e);switch(e.kind){case`tool_event`:return this.#N(e,t);case`prompt`:return this.#m(e,t);case`narrative`:return this.#v(e,t,I(e.event,`text`)??``);case`narrative_delta`:return this.#y(e,t,I(e.event,`text`)??``);case`narrative_retracted`:return this.#b(e,t);case`plan_started`:return this.#T(e,t);case`plan_ended`:return this.#E(e,t);case`tool_pending`:return this.#O(e,t);case`tool_started`:return this.#k(e,t);case`tool_ended`:return this.#A(e,t);case`attempt_started`:this.#j(e,t);return;case`attempt_ended`:return this.#M(e,t);case`asset_refused`:return this.#L(e);case`ui_placeholder`:return this.#R(e,t);case`state_patched`:return this.#P(e,t,I(e.event,`by`)??``);case`state_conflict`:return this.#z(e);case`warning`:return this.#V(e);case`story_reloaded`:return this.#B(e);case`turn_ended`:return this.#x(e,t);case`session_moved`:return this.#S(e,t)}}#m(e,t){let n=this.running;n!==void 0&&Is(n,`completed`,e.seq,t);let r=I(e.event,`text`)??``,i=this.interrupted?.text===r,a=this.#h(e,t);a.prompt={text:r},a.isAgain=this.#r&&!i,this.#r=!1}#h(e,t){let n=Ba(this.turns.length,e.seq,t);return n.previous=this.#t,this.#t=n,this.#g(n),n}#g(e){this.interrupted=void 0,this.turns.push(e),this.story.at(-1)?.isMarker===!0&&this.story.pop(),this.story.push(e)}#_(e,t){let n=this.#w(e)?.turn??this.running??this.#h(e,t);return n.revision=e.seq,n}#v(e,t,n){let r=this.#_(e,t);r.untold=[];let i=Ms(r);if(i===void 0)return As(r,e.seq,n);let a=n.startsWith(i.text.trimEnd())?n.slice(Ns(i)):n;Object.assign(i,{text:n,pieces:`whole`}),a.trim()!==``&&i.spoken.push({seq:e.seq,text:a})}#y(e,t,n){let r=this.#_(e,t),i=Ms(r);i===void 0&&(i={seq:e.seq,text:``,pieces:`open`,spoken:[]},r.narratives.push(i),r.entries.push({what:`narrative`,seq:e.seq,narrative:i})),i.text+=n;let a=i.text.slice(Ns(i)),o=/^[^]*(?:[.!?…][^\p{L}\p{N}\s]{0,8}\s|[。！？]|\n)/u.exec(a)?.[0];o!==void 0&&o.trim()!==``&&i.spoken.push({seq:e.seq,text:o})}#b(e,t){let n=Ms(this.#_(e,t));n!==void 0&&(n.pieces=`retracted`,n.spoken.push({seq:e.seq,text:``}))}#x(e,t){let n=this.running;if(n===void 0)return;let r=I(e.event,`outcome`);n.generations=L(e.event,`generations`);let i=R(e.event,`usage`);if(i!==void 0&&(n.usage={input:L(i,`inputTokens`)??0,cached:L(i,`cachedTokens`)??0,output:L(i,`outputTokens`)??0,cost:L(i,`cost`),currency:I(i,`currency`)}),Object.hasOwn(e.event,`choices`)){let t=un(e.event,`choices`);n.choices=t.length===0?void 0:{planKey:n.choices?.planKey,prompt:n.choices?.prompt,choices:t}}let a=L(e.event,`turn`);a!==void 0&&a>0&&(n.id=this.turnId=a);let o=ln(e.event,`durable`);o!==void 0&&(this.storeFault=o?``:this.#e),Is(n,xs(r)?r:`completed`,e.seq,t)}#S(e,t){let n=L(e.event,`turn`)??0;this.turnId=n;let r=Qa(this.turns,this.#t,n,e.seq);if(this.#t=r,{story:this.story,branches:this.branches}=$a(this.turns,r,e.seq),e.state!==void 0&&this.#C(e.state,t),this.#r=ln(e.event,`playsAgain`)===!0,this.#r)return;let i=Ba(this.turns.length,e.seq,t);i.previous=r,i.movedTo=n,i.ending=I(e.event,`ending`);let a=I(e.event,`narrative`)??``;i.isLater=n>0&&(i.index===0||a!==``),r?.id===n?i.backTo=r.prompt?.text??r.backTo:L(this.#n??{},`id`)===n&&(i.backTo=I(this.#n??{},`prompt`)),i.isMarker=r===void 0?!no(i):r.id===n||js(r,a),i.isMarker||(i.id=n,this.#t=i,a!==``&&As(i,e.seq,a)),this.#g(i);let o=un(e.event,`choices`);o.length>0&&(i.choices={choices:o}),Is(i,`completed`,e.seq,t)}#C(e,t){let n=new ys,r=this.#i?.state??this.initialState;for(let e of this.patches.slice(this.#i?.patches??0))r=n.apply(r,e);let i=bs(r,e);Object.keys(i.patch).length>0&&this.patches.push({time:t,planKey:void 0,toolId:void 0,by:``,isMove:!0,patch:i.patch,nulls:i.nulls}),this.#i={state:e,patches:this.patches.length}}#w(e){return typeof e.planId==`string`?this.#o.get(e.planId):void 0}#T(e,t){let n=e.planId??``,r=(this.#s.get(n)??0)+1;this.#s.set(n,r);let i=this.running??this.#h(e,t),a=R(e.event,`plan`)??{},o=i.plans.findLast(e=>e.success===!0&&e.isContinued),s={key:`${n}#${r}`,plan:a,isOpen:ln(e.event,`open`)===!0,isContinued:ln(a,`continue`)===!0,continues:o,started:t,failedTools:[],invocations:new Map,turn:i,revision:e.seq};this.#o.set(n,s),this.plans.set(s.key,s),i.plans.push(s),i.entries.push({what:`plan`,seq:e.seq,plan:s}),i.choices=o===void 0||i.choices===void 0?void 0:{...i.choices,planKey:s.key},i.revision=e.seq}#E(e,t){let n=this.#w(e);n!==void 0&&(n.ended=t,n.success=ln(e.event,`success`)??!1,n.failedTools=un(e.event,`failedTools`),n.executionTime=L(e.event,`executionTime`),n.revision=e.seq,n.turn.revision=e.seq,n.success?Fs(n,un(n.plan,`choices`),void 0):(Ps(n.turn,e.seq),n.turn.entries.push({what:`failure`,seq:e.seq,plan:n}),n.turn.choices=void 0),n.turn.prompt===void 0&&n.turn.outcome===void 0&&Is(n.turn,n.success?`completed`:`failed`,e.seq,t))}#D(e,t){let n=this.#w(e),r=e.toolId;if(n===void 0||typeof r!=`string`)return;n.revision=e.seq,n.turn.revision=e.seq;let i=n.invocations.get(r);return i===void 0&&(i={planKey:n.key,toolId:r,toolPath:``,dependencies:[],state:`pending`,attempts:[],logs:new _s,errors:[],pendingSince:t,revision:e.seq},n.invocations.set(r,i)),i.revision=e.seq,i}#O(e,t){let n=this.#D(e,t);n!==void 0&&(n.toolPath=I(e.event,`toolPath`)??``,n.line=L(e.event,`line`),n.dependencies=un(e.event,`dependencies`))}#k(e,t){let n=this.#D(e,t);n!==void 0&&(n.toolPath=I(e.event,`toolPath`)??n.toolPath,n.line=L(e.event,`line`)??n.line,n.state=`running`,n.started=t)}#A(e,t){let n=this.#D(e,t);if(n===void 0)return;let r=I(e.event,`state`);n.state=zs(r)?r:ln(e.event,`ok`)===!0?`completed`:`failed`,n.ended=t,n.executionTime=L(e.event,`executionTime`),n.error=I(e.event,`error`),n.errorCode=I(e.event,`errorCode`),n.stderr=I(e.event,`stderr`),n.state===`failed`&&n.errorCode===Os&&(n.state=`stopped`);let i=n.state===`completed`?(n.summary??``).trim():``,a=this.#w(e),o=I(a?.plan??{},`narrative`)??``;a===void 0||o.includes(i)||(a.turn.untold.push(i),a.isContinued||Ps(a.turn,e.seq))}#j(e,t){let n=this.#D(e,t);if(n===void 0)return;let r=e.attempt??L(e.event,`attempt`)??1,i=n.attempts.at(-1);return i?.number!==r&&(i=n.attempts.find(e=>e.number===r)),i===void 0&&(i={number:r,state:`running`,started:t},n.attempts.push(i),n.state=`running`,n.progress=void 0,n.progressMessage=void 0),{invocation:n,attempt:i}}#M(e,t){let n=this.#j(e,t);if(n===void 0)return;let{invocation:r,attempt:i}=n,a=I(e.event,`state`);i.state=Bs(a)?a:`failed`,i.ended=t,i.code=I(e.event,`code`),i.error=I(e.event,`error`),i.exitStatus=L(e.event,`exitStatus`),i.signal=L(e.event,`signal`),i.state===`failed`&&i.code===Os&&(i.state=`stopped`),i.state!==`completed`&&(r.state=`retrying`)}#N(e,t){let n=this.#j(e,t);if(n===void 0)return;let{invocation:r,attempt:i}=n,a=e.event;switch(I(a,`type`)){case`log`:{let n=R(a,`fields`),o=I(a,`level`);r.logs.add({seq:e.seq,time:t,level:gs.find(e=>e===o)??`info`,message:I(a,`message`)??``,fields:n,attempt:i.number});let s=n===void 0?void 0:L(n,`progress`);s!==void 0&&s>=0&&s<=1&&(r.progress=s,r.progressMessage=I(a,`message`));break}case`state_patch`:this.#P(e,t,void 0);break;case`asset`:this.#F(e,t);break;case`ui_event`:{let t=this.#w(e),n=R(a,`payload`);if(t===void 0||n===void 0||I(a,`event`)!==`narrative_choice`)break;Fs(t,un(n,`choices`),I(n,`prompt`));break}case`error`:r.errors.push({attempt:i.number,code:I(a,`errorCode`)??``,message:I(a,`errorMessage`)??``,details:R(a,`details`)});break;case`done`:r.summary=I(a,`summary`),r.result=F(a,`result`),ln(a,`ok`)===!0&&(r.progress=r.progress===void 0?void 0:1)}}#P(e,t,n){let r=R(e.event,`patch`);r!==void 0&&this.patches.push({time:t,planKey:this.#w(e)?.key,toolId:e.toolId??void 0,by:n,patch:r,nulls:R(e.event,`nulls`)})}#F(e,t){let n=e.event,r=this.#_(e,t),i={seq:e.seq,time:t,planKey:this.#w(e)?.key,toolId:e.toolId??``,attempt:e.attempt??1,assetId:I(n,`assetId`)??``,kind:I(n,`kind`)??``,mediaType:I(n,`mediaType`)??``,path:I(n,`path`)??``,metadata:R(n,`metadata`)??{}},a=Rs(i),o=this.#c.get(a);o!==void 0&&(o.replaced=i,this.#l.set(i,o)),this.#c.set(a,i),this.assets.push(i),r.assets.push(i),r.entries.push({what:`asset`,seq:e.seq,asset:i})}#I(e){let t=this.#w(e)?.key,n=I(e.event,`assetId`);if(n!==void 0)return this.#c.get(Rs({planKey:t,toolId:e.toolId??``,assetId:n}))}#L(e){let t=this.#I(e);if(t===void 0||t.refused!==void 0)return;t.refused={code:I(e.event,`code`)??``,message:I(e.event,`message`)??``};let n=this.#l.get(t);n===void 0?this.#c.delete(Rs(t)):(delete n.replaced,this.#c.set(Rs(t),n));let r=this.#w(e)?.turn;r!==void 0&&(r.revision=e.seq)}#R(e,t){let n=this.#_(e,t),r={planKey:this.#w(e)?.key,toolId:e.toolId??void 0,attempt:e.attempt??void 0,event:I(e.event,`event`)??``,payload:F(e.event,`payload`)??{}};Ls(n,r),n.entries.push({what:`placeholder`,seq:e.seq,placeholder:r})}#z(e){this.conflicts.push({path:I(e.event,`path`)??``,tools:un(e.event,`tools`)})}#B(e){this.title=I(e.event,`title`)??this.title;let t=R(e.event,`opening`)??{};this.opening={text:I(t,`text`)??``,choices:un(t,`choices`)};let n=F(e.event,`faults`);this.storyFaults=(Array.isArray(n)?n.filter(P):[]).map(e=>({place:[I(e,`file`),L(e,`line`),L(e,`column`)].filter(e=>e!==void 0).join(`:`),message:I(e,`message`)??``}))}#V(e){let t=this.#w(e)?.turn??this.running,n=I(e.event,`message`)??``,r=I(e.event,`code`)??``;if(r===`STORE_RECOVERED`?this.storeFault=``:r.startsWith(`STORE_`)&&(this.#e=n),t===void 0)return void(this.stray={seq:e.seq,message:n});t.warnings.push({toolId:e.toolId??void 0,message:n}),t.revision=e.seq}};function As(e,t,n){let r={seq:t,text:n,spoken:[{seq:t,text:n}]};e.narratives.push(r),e.entries.push({what:`narrative`,seq:t,narrative:r})}function js(e,t){let n=e.narratives.filter(e=>e.pieces!==`retracted`).map(e=>e.text);return t===``||n.join(`

`)===t}function Ms(e){let t=e.narratives.at(-1);return t?.pieces===`open`?t:void 0}function Ns(e){return e.spoken.reduce((e,t)=>e+t.text.length,0)}function Ps(e,t){e.untold.length!==0&&(As(e,t,e.untold.join(`

`)),e.untold=[])}function Fs(e,t,n){let r=t.filter(e=>e!==``);if(r.length===0)return;let i=e.turn.choices?.planKey===e.key?e.turn.choices:void 0,a=[...new Set([...i?.choices??[],...r])];e.turn.choices={planKey:e.key,prompt:n??i?.prompt,choices:a}}function Is(e,t,n,r){Ps(e,n),e.outcome=t,e.ended=r,e.endSeq=n,e.revision=n}function Ls(e,t){let{attempt:n,toolId:r,planKey:i,event:a}=t;if(n===void 0||n<2)return;let o=e=>e.toolId===r&&e.planKey===i&&e.event===a&&(e.attempt??n)<n;e.entries=e.entries.filter(e=>e.what!==`placeholder`||!o(e.placeholder))}function Rs(e){return JSON.stringify([e.planKey??null,e.toolId,e.assetId])}function zs(e){return e===`completed`||e===`failed`||e===`skipped`||e===`timeout`}function Bs(e){return e===`completed`||e===`failed`||e===`timeout`}var Vs={image:`Picture`,audio:`Sound`,video:`Film`,text:`Text`,model:`Model`,other:`File`},Hs=1e3,Us=9;function Ws(e,t,n=()=>!1){let r=[];for(let i=e.turns.length-1;i>=0;--i){let a=e.turns[i];if(a.revision<=t)break;let o=[],s=e=>void o.push({text:e,isStory:!0}),c=e=>void o.push({text:e,isStory:!1}),l=xo(a);l!==void 0&&(a.endSeq??0)>t&&c(l);for(let e of a.entries){if(e.what===`narrative`)for(let n of e.narrative.spoken)n.seq<=t||(n.text===``?c(`The narrator takes that back.`):s(n.text.trim()));e.what===`failure`&&e.seq>t&&lo(a,e.plan).forEach(s),e.what===`asset`&&e.asset.seq>t&&e.asset.refused===void 0&&c(`${Vs[Hi(e.asset)]}: ${Ki(e.asset)}`)}if((a.endSeq??0)>t){let e=co(a);e!==void 0&&c(`The end: ${e}`);let t=so(a,n(a))?.words??[];t.length>0&&c(t.join(` `)),a.choices!==void 0&&c(`You can choose: ${a.choices.choices.slice(0,Us).map(e=>j(e,80)).join(`, `)}`)}r.unshift(...o)}return r.map(e=>({...e,text:j(e.text,Hs)}))}var Gs=class extends x{constructor(...e){super(...e),this.messages=[],this.#e=0,this.#t=0}#e;#t;#n;static{this.styles=[k,h`
      :host {
        position: absolute;
      }
    `]}disconnectedCallback(){super.disconnectedCallback(),this.#n?.()}willUpdate(e){e.has(`session`)&&(this.#n?.(),this.messages=[],this.#e=2**53-1,this.#n=this.session?.subscribe(()=>this.#r()))}render(){return v`<div class="unseen" role="log" aria-live="polite" aria-label="Narration">
      ${T(this.messages,e=>e.key,e=>v`<p lang=${e.isStory&&this.session?.language||b}>${e.text}</p>`)}
    </div>`}#r(){let e=this.session;if(e!==void 0&&e.caughtUp){if(this.#e!==2**53-1){let t=Ws(e,this.#e,e=>this.prompts?.hasStopped(e)??!1).map(e=>({...e,key:++this.#t}));t.length>0&&(this.messages=[...this.messages,...t].slice(-12))}this.#e=e.lastSeq}}};O([C({attribute:!1})],Gs.prototype,`session`,void 0),O([C({attribute:!1})],Gs.prototype,`prompts`,void 0),O([w()],Gs.prototype,`messages`,void 0),Gs=O([S(`narratoria-announcer`)],Gs);var Ks=`narratoria-reading`,qs=`narratoria-theme`,Js=`narratoria-reading-alone`,Ys=Promise.resolve();function Xs(){let e;try{let t=localStorage.getItem(qs),n=JSON.parse(localStorage.getItem(`narratoria-reading`)??`{}`);e=JSON.stringify({...n,...t===null?{}:{theme:t}})}catch{return}Ys=Ys.then(async()=>{let t=!1;try{let n=await fetch(`/api/reading`,{method:`POST`,headers:{"Content-Type":`application/json`},body:e,keepalive:!0});t=n.ok&&(await n.json()).stored===!0}catch{}try{t?localStorage.removeItem(Js):localStorage.setItem(Js,`1`)}catch{}})}var Zs=[.85,1,1.15,1.35,1.6,2],Qs={short:`28em`,normal:`36em`,long:`52em`},$s=class{#e;constructor(){this.textSize=1,this.lineWidth=`normal`,this.details=!1,this.#e=new Set;try{let e=JSON.parse(localStorage.getItem(`narratoria-reading`)??`{}`);this.textSize=Zs.find(t=>t===e.textSize)??this.textSize,typeof e.lineWidth==`string`&&Object.hasOwn(Qs,e.lineWidth)&&(this.lineWidth=e.lineWidth),this.details=e.details===!0}catch{}this.#t()}subscribe(e){return this.#e.add(e),()=>this.#e.delete(e)}set(e){Object.assign(this,e),this.#t();let{textSize:t,lineWidth:n,details:r}=this;try{localStorage.setItem(Ks,JSON.stringify({textSize:t,lineWidth:n,details:r})),Xs()}catch{}for(let e of[...this.#e])e()}stepTextSize(e){let t=Zs[Zs.findIndex(e=>e===this.textSize)+e];t!==void 0&&this.set({textSize:t})}#t(){let e=document.documentElement.style;e.setProperty(`--text-size`,String(this.textSize)),e.setProperty(`--line-width`,Qs[this.lineWidth])}},ec={system:`Colours of the system`,dark:`Dark colours`,light:`Light colours`},tc=class extends x{constructor(...e){super(...e),this.theme=`system`,this.narrow=!1,this.#t=()=>this.dialog.close(),this.#n=e=>{e.target===this.dialog&&!nc(this.dialog.getBoundingClientRect(),e)&&this.dialog.close()},this.#r=()=>{this.dialog.close(),this.dispatchEvent(new CustomEvent(`print`))}}#e;static{this.styles=[A,h`
      :host {
        position: absolute;
      }
      dialog {
        position: fixed;
        inset: auto auto 1rem 5.75rem;
        width: min(20rem, calc(100vw - 2rem));
        max-height: calc(100dvh - 2rem);
        margin: 0;
        padding: 1rem 1.25rem 1.25rem;
        overflow-y: auto;
        border: 1px solid var(--line);
        border-radius: 1.25rem;
        background: rgb(var(--mdui-color-surface-container-high));
        color: rgb(var(--mdui-color-on-surface));
        box-shadow: 0 0.5rem 2rem rgb(0 0 0 / 0.35);
      }
      dialog::backdrop {
        background: rgba(var(--mdui-color-scrim), 0.25);
      }
      :host([narrow]) dialog {
        inset: auto 0 0;
        width: 100%;
        max-width: none;
        border-width: 1px 0 0;
        border-radius: 1.25rem 1.25rem 0 0;
      }
      header,
      .row {
        display: flex;
        flex-wrap: wrap;
        align-items: center;
        justify-content: space-between;
        gap: 0.25rem 0.75rem;
        min-height: 3rem;
      }
      h2 {
        font-size: 1rem;
      }
      .steps {
        display: flex;
        align-items: center;
      }
      .steps output {
        min-width: 3.25rem;
        text-align: center;
      }
      kbd {
        padding: 0 0.375rem;
        border: 1px solid var(--line);
        border-radius: 0.25rem;
        font: inherit;
        font-size: 0.75rem;
      }
      @media print {
        :host {
          display: none;
        }
      }
    `]}disconnectedCallback(){super.disconnectedCallback(),this.#e?.()}willUpdate(e){e.has(`reading`)&&(this.#e?.(),this.#e=this.reading?.subscribe(()=>this.requestUpdate()))}render(){let e=this.reading,t=e?.textSize??1;return v`<dialog aria-labelledby="title" @click=${this.#n}>
      <header>
        <h2 id="title">Reading</h2>
        <button class="icon-button" type="button" aria-label="Close" title="Close (Escape)" @click=${this.#t}>${D(`close`)}</button>
      </header>
      <div class="row">
        <span id="size">Text size</span>
        <span class="steps" role="group" aria-labelledby="size">
          <button class="icon-button" type="button" aria-label="Smaller text" ?disabled=${t<=Zs[0]} @click=${()=>e?.stepTextSize(-1)}>${D(`remove`)}</button>
          <output class="number">${Lt(t)}</output>
          <button class="icon-button" type="button" aria-label="Larger text" ?disabled=${t>=Zs.at(-1)} @click=${()=>e?.stepTextSize(1)}>${D(`add`)}</button>
        </span>
      </div>
      <div class="row">
        <span id="lines">Lines</span>
        <span class="segments" role="group" aria-labelledby="lines">
          ${Object.keys(Qs).map(t=>v`<button type="button" aria-pressed=${e?.lineWidth===t?`true`:`false`} @click=${()=>e?.set({lineWidth:t})}>${t}</button>`)}
        </span>
      </div>
      <div class="row">
        <span id="colours">Colours</span>
        <span class="segments" role="group" aria-labelledby="colours">
          ${Object.keys(ec).map(e=>v`<button type="button" aria-label=${ec[e]} aria-pressed=${this.theme===e?`true`:`false`} @click=${()=>this.dispatchEvent(new CustomEvent(`theme`,{detail:e}))}>${e}</button>`)}
        </span>
      </div>
      <div class="row">
        <span><span id="did">What tools did</span> <kbd aria-hidden="true">d</kbd></span>
        <button id="how" class="chip" type="button" aria-labelledby="did how" aria-keyshortcuts="d" aria-pressed=${e?.details===!0?`true`:`false`} @click=${()=>e?.set({details:!e.details})}>
          ${e?.details===!0?`shown`:`folded`}
        </button>
      </div>
      <div class="row">
        <span>On paper</span>
        <button class="button plain" type="button" @click=${this.#r}>Print the story</button>
      </div>
    </dialog>`}show(){this.dialog.open||this.dialog.showModal()}#t;#n;#r};O([C({attribute:!1})],tc.prototype,`reading`,void 0),O([C()],tc.prototype,`theme`,void 0),O([C({type:Boolean,reflect:!0})],tc.prototype,`narrow`,void 0),O([ct(`dialog`)],tc.prototype,`dialog`,void 0),tc=O([S(`narratoria-reading-sheet`)],tc);function nc(e,{clientX:t,clientY:n}){return t>=e.left&&t<=e.right&&n>=e.top&&n<=e.bottom}var rc=matchMedia(`(prefers-color-scheme: dark)`);function ic(){try{let e=localStorage.getItem(qs);return e===`light`||e===`dark`?e:`system`}catch{return`system`}}function ac(e){let t=e===`system`?rc.matches:e===`dark`,n=document.documentElement.classList;n.remove(`mdui-theme-auto`),n.toggle(`mdui-theme-dark`,t),n.toggle(`mdui-theme-light`,!t)}function oc(e){ac(e);try{e===`system`?localStorage.removeItem(qs):localStorage.setItem(qs,e),Xs()}catch{}}function sc(e){return rc.addEventListener(`change`,e),()=>rc.removeEventListener(`change`,e)}var cc={narrative:`book`,tools:`tools`,assets:`assets`,state:`tree`},lc={narrative:`Narrative`,tools:`Tools`,assets:`Assets`,state:`State`},uc=matchMedia(`(min-width: 37.5rem)`),dc=3,fc=1500,Q=class extends x{constructor(...e){super(...e),this.session=new ks,this.prompts=new as(this.session),this.route=rn(location.hash),this.theme=ic(),this.isWide=uc.matches,this.status=`opening`,this.isLost=!1,this.hasRunningTools=!1,this.hasNews=!1,this.#e=new $s,this.#_=e=>{pc(e)?(e.preventDefault(),this.#e.set({details:!this.#e.details})):this.status!==`ended`&&this.prompts.busy&&Va(e)&&(e.preventDefault(),this.prompts.cancel())},this.#v=()=>{this.route=rn(location.hash),this.route.place===`narrative`&&(this.#i=void 0,this.hasNews=!1)},this.#y=()=>{this.isWide=uc.matches},this.#x=async()=>{this.route.place!==`narrative`&&on(`#/narrative`),this.#v(),await this.updateComplete,print()}}#e;#t;#n;#r;#i;#a;static{this.styles=[k,h`
      :host {
        display: grid;
        grid-template: auto minmax(0, 1fr) / auto minmax(0, 1fr);
        height: 100dvh;
        font: var(--mdui-typescale-body-medium-size) / 1.5 var(--font-page);
        color: rgb(var(--mdui-color-on-surface));
      }

      :host([narrow]) {
        grid-template: auto minmax(0, 1fr) auto / minmax(0, 1fr);
      }

      nav {
        grid-row: 1 / -1;
        min-height: 0;
      }

      :host([narrow]) nav {
        grid-row: 3;
        min-height: auto;
        display: flex;
        align-items: center;
        background: rgb(var(--mdui-color-surface-container));
      }

      mdui-navigation-rail {
        position: static;
        height: 100%;
        padding-top: 1.25rem;
        overflow: hidden auto;
        scrollbar-width: none;
        background: rgb(var(--mdui-color-surface-container-low));
      }

      mdui-navigation-bar {
        position: static;
        flex: 1;
        min-width: 0;
        height: 3.5rem;
        padding: 0;
        background: none;
        box-shadow: none;
      }

      mdui-navigation-bar-item {
        min-width: 0;
      }

      /* Icon and label without padding, to leave more height for the story. */
      mdui-navigation-bar-item::part(container) {
        min-width: 0;
        padding-block: 0.25rem;
      }

      mdui-navigation-bar-item::part(indicator) {
        height: 1.75rem;
      }

      nav > mdui-button-icon {
        flex: none;
        margin-inline: 0.25rem;
      }

      /* Inside the item, because the rail clips what is outside. */
      mdui-navigation-rail-item[focus-visible],
      mdui-navigation-bar-item[focus-visible] {
        outline: 0.1875rem solid rgb(var(--mdui-color-primary));
        outline-offset: -0.1875rem;
        border-radius: 0.5rem;
      }

      .badge {
        position: absolute;
        top: 0;
        right: calc(50% - 1.25rem);
        width: 0.5rem;
        height: 0.5rem;
        border-radius: 50%;
        background: rgb(var(--mdui-color-tertiary));
        transform: none;
      }

      .banner {
        display: flex;
        flex-wrap: wrap;
        align-items: center;
        justify-content: center;
        gap: 0.25rem 1rem;
        padding: 0.375rem 1rem;
        border-bottom: 0.125rem solid rgb(var(--mdui-color-tertiary));
        background: rgb(var(--mdui-color-surface-container-high));
        color: rgb(var(--mdui-color-on-surface));
        text-align: center;
      }

      .banner.ended {
        border-color: rgb(var(--mdui-color-error));
      }

      .banner mdui-button {
        min-height: 2rem;
      }

      .banner.faults {
        flex-direction: column;
        overflow-wrap: anywhere;
      }

      [role="status"] {
        grid-column: -2;
        min-width: 0;
      }

      main {
        grid-column: -2;
        min-width: 0;
        min-height: 0;
        overflow: hidden;
      }

      main > * {
        display: block;
        height: 100%;
      }

      main > narratoria-narrative {
        display: grid;
      }

      /* In forced-colors mode the page's own colours do not apply, so an outline marks the current view. */
      @media (forced-colors: active) {
        [current] {
          outline: 0.125rem solid Highlight;
          outline-offset: -0.125rem;
          text-decoration: underline;
        }
      }

      /* At 400 % zoom a banner of several lines could take the whole window, so the page scrolls and the view keeps a
         minimum height. */
      @media (max-height: 20rem) {
        :host {
          grid-template-rows: auto minmax(8rem, 1fr);
          overflow-y: auto;
        }

        :host([narrow]) {
          grid-template-rows: auto minmax(8rem, 1fr) auto;
        }
      }

      @media (max-height: 30rem) {
        mdui-navigation-rail {
          padding-top: 0.25rem;
        }

        mdui-navigation-bar {
          height: 3rem;
        }
      }

      @media print {
        :host,
        main {
          display: block;
          height: auto;
          overflow: visible;
        }

        nav,
        [role="status"],
        narratoria-announcer {
          display: none;
        }
      }
    `]}connectedCallback(){super.connectedCallback(),ac(this.theme),this.#t=sc(()=>ac(this.theme)),addEventListener(`hashchange`,this.#v),addEventListener(`keydown`,this.#_),uc.addEventListener(`change`,this.#y),this.#y(),this.#h(),this.#n=new Fa({status:e=>this.#g(e),opened:e=>(this.session.isAnother(e)&&(this.session=new ks,this.prompts.dispose(),this.prompts=new as(this.session),this.#h()),this.session.open(e),this.session.lastSeq),records:(e,t)=>this.session.take(e,t),lastSeq:()=>this.session.lastSeq}),this.#n.open()}disconnectedCallback(){super.disconnectedCallback(),removeEventListener(`hashchange`,this.#v),removeEventListener(`keydown`,this.#_),uc.removeEventListener(`change`,this.#y),this.#t?.(),this.#r?.(),this.#n?.dispose(),clearTimeout(this.#a)}willUpdate(){this.toggleAttribute(`narrow`,!this.isWide);let e=this.session.title===``?`Narratoria`:j(this.session.title,120);document.title=this.route.place===`narrative`?e:`${lc[this.route.place]} · ${e}`}render(){return v`${this.isWide?this.#s():b}
      <div role="status">${this.#d()}${this.#f()}${this.#p()}</div>
      <main aria-label=${lc[this.route.place]}>${la(this.session,this.#o())}</main>
      ${this.isWide?b:this.#c()}
      <narratoria-announcer .session=${this.session} .prompts=${this.prompts}></narratoria-announcer>
      <narratoria-reading-sheet
        .reading=${this.#e}
        .theme=${this.theme}
        ?narrow=${!this.isWide}
        @theme=${e=>this.#b(e.detail)}
        @print=${this.#x}
      ></narratoria-reading-sheet>`}updated(e){(e.has(`route`)||e.has(`isWide`))&&this.#m()}#o(){let{place:e,path:t}=this.route;switch(e){case`narrative`:return v`<narratoria-narrative
          .session=${this.session}
          .prompts=${this.prompts}
          .reading=${this.#e}
          ?ended=${this.status===`ended`}
        ></narratoria-narrative>`;case`tools`:return v`<narratoria-tools
          .session=${this.session}
          .prompts=${this.prompts}
          .path=${t}
          ?ended=${this.status===`ended`}
        ></narratoria-tools>`;case`assets`:return v`<narratoria-assets .session=${this.session} .path=${t}></narratoria-assets>`;case`state`:return v`<narratoria-state .session=${this.session} .path=${t}></narratoria-state>`}}#s(){return v`<nav aria-label="Places">
      <mdui-navigation-rail .value=${this.route.place} alignment="start">
        ${nn.map(e=>v`<mdui-navigation-rail-item href="#/${e}" value=${e}
              ><span slot="icon">${D(cc[e])}</span>${this.#l(e)}${lc[e]}</mdui-navigation-rail-item
            >`)}
        <div slot="bottom">${this.#u()}</div>
      </mdui-navigation-rail>
    </nav>`}#c(){return v`<nav aria-label="Places">
      <mdui-navigation-bar .value=${this.route.place} label-visibility="labeled">
        ${nn.map(e=>v`<mdui-navigation-bar-item href="#/${e}" value=${e}
              ><span slot="icon">${D(cc[e])}</span>${this.#l(e)}${lc[e]}</mdui-navigation-bar-item
            >`)}
      </mdui-navigation-bar>
      ${this.#u()}
    </nav>`}#l(e){let t=e===`tools`&&this.hasRunningTools?`at work`:e===`narrative`&&this.hasNews?`something new`:``;return t===``?b:v`<span slot="badge" class="badge"><span class="unseen">${t}</span></span>`}#u(){return v`<mdui-button-icon title="Reading: text size, colours, details, print" @click=${()=>this.sheet.show()}
      >${D(`letters`)}<span class="unseen">Reading</span></mdui-button-icon
    >`}#d(){return this.status===`ended`&&this.#n?.isReplaced===!0?v`<div class="banner ended">
        <span>This game has ended, and a new one is running. You can still read this one here.</span
        ><mdui-button variant="text" @click=${()=>location.reload()}>Load the new game</mdui-button>
      </div>`:this.status===`ended`?v`<div class="banner ended">
        This game has ended. To play again, open the new address. You can still read this game here.
      </div>`:this.isLost?v`<div class="banner">
      <span>The game has stopped or cannot be reached. Trying again…</span
      ><mdui-button variant="text" @click=${()=>this.#n?.retry()}>Try now</mdui-button>
    </div>`:b}#f(){let e=this.session.storeFault;return e===``?b:v`<div class="banner ended faults">
      <span>This game is not being saved.</span>
      <span>${j(e,300)}</span>
    </div>`}#p(){let e=this.session.storyFaults;if(e.length===0)return b;let t=e.length-dc;return v`<div class="banner ended faults">
      <span>The story's files have a fault. Until it is fixed, the story from before is played.</span>
      ${e.slice(0,dc).map(({place:e,message:t})=>v`<span>${e===``?``:`${e}: `}${j(t,300)}</span>`)}
      ${t>0?v`<span>${t===1?`1 more`:`${t} more`}</span>`:b}
    </div>`}async#m(){let e=this.renderRoot.querySelectorAll(`mdui-navigation-rail-item, mdui-navigation-bar-item`);for(let t of e){t.toggleAttribute(`current`,t.value===this.route.place),await t.updateComplete;let e=t.renderRoot.querySelector(`a`);t.value===this.route.place?e?.setAttribute(`aria-current`,`page`):e?.removeAttribute(`aria-current`)}}#h(){this.#r?.(),this.#i=void 0,this.hasNews=!1;let e=this.session,{title:t,storyFaults:n,storeFault:r}=e;this.#r=e.subscribe(()=>{let i=this.route.place!==`narrative`,a=e.turns.at(-1)?.narratives.at(-1)?.seq??0;i&&e.caughtUp&&this.#i!==void 0||(this.#i=a),this.hasNews=i&&a>this.#i,this.hasRunningTools=e.running?.plans.some(e=>e.ended===void 0)??!1,(t!==e.title||n!==e.storyFaults||r!==e.storeFault)&&this.requestUpdate(),{title:t,storyFaults:n,storeFault:r}=e})}#g(e){this.status=e,this.requestUpdate(),e===`ended`&&this.session.markLost(Date.now()),e===`open`&&this.prompts.reached(),clearTimeout(this.#a),e===`lost`?this.#a=setTimeout(()=>this.isLost=!0,fc):this.isLost=!1}#_;#v;#y;#b(e){this.theme=e,oc(e)}#x};O([w()],Q.prototype,`session`,void 0),O([w()],Q.prototype,`prompts`,void 0),O([w()],Q.prototype,`route`,void 0),O([w()],Q.prototype,`theme`,void 0),O([w()],Q.prototype,`isWide`,void 0),O([w()],Q.prototype,`status`,void 0),O([w()],Q.prototype,`isLost`,void 0),O([w()],Q.prototype,`hasRunningTools`,void 0),O([w()],Q.prototype,`hasNews`,void 0),O([ct(`narratoria-reading-sheet`)],Q.prototype,`sheet`,void 0),Q=O([S(`narratoria-app`)],Q);function pc(e){return e.key!==`d`||e.defaultPrevented||e.isComposing||e.repeat?!1:!e.ctrlKey&&!e.altKey&&!e.metaKey&&!Ua(e)}var mc=class extends x{constructor(...e){super(...e),this.text=``,this.label=`Copy`,this.compact=!1,this.outcome=``}static{this.shadowRootOptions={...x.shadowRootOptions,delegatesFocus:!0}}static{this.styles=[A,h`
      :host {
        display: inline-block;
      }
    `]}render(){let e=this.outcome===`Copied`;return v`<button
        type="button"
        class=${this.compact?`icon-button`:`button`}
        title=${this.label}
        aria-label=${this.label}
        @click=${this.#e}
      >
        ${D(e?`check`:`copy`)}${this.compact?``:v`<span>${this.outcome||`Copy`}</span>`}
      </button>
      <span class="unseen" role="status">${this.outcome}</span>`}async#e(){let e=typeof this.text==`string`?this.text:this.text();try{await navigator.clipboard.writeText(e),this.outcome=`Copied`}catch{this.outcome=`Not copied`}setTimeout(()=>this.outcome=``,2e3)}};O([C({attribute:!1})],mc.prototype,`text`,void 0),O([C()],mc.prototype,`label`,void 0),O([C({type:Boolean})],mc.prototype,`compact`,void 0),O([w()],mc.prototype,`outcome`,void 0),mc=O([S(`narratoria-copy`)],mc);function hc(e){return e.isMove===!0?`going back`:e.by===``?`the host`:e.by===void 0?e.toolId===void 0?`a tool`:j(hn(e.toolId),60):j(hn(e.by),60)}function gc(e){let t=``;for(let n of e)t+=_c(n);return t}function _c(e){return`/`+e.replaceAll(`~`,`~0`).replaceAll(`/`,`~1`)}function vc(e){if(e===``)return[];if(e.startsWith(`/`))return e.slice(1).split(`/`).map(e=>e.replaceAll(`~1`,`/`).replaceAll(`~0`,`~`))}function yc(e,t){if(typeof e==`object`&&e)return Array.isArray(e)?/^(0|[1-9][0-9]*)$/.test(t)?e[Number(t)]:void 0:Object.hasOwn(e,t)?e[t]:void 0}function bc(e,t){let n=e;for(let e of t)if(n=yc(n,e),n===void 0)return;return n}function xc(e,{patch:t,nulls:n={}},r){let i=[],a=(t,o)=>{for(let s of Object.keys(t)){let c=t[s],l=[...o,s];if(P(c)&&Object.keys(c).length>0){if(!a(c,l))return!1;continue}if(i.length===r)return!1;let u=bc(e,l),d=c===null&&bc(n,l)!==null;i.push({segments:l,what:d?Sc(u):Cc(u,c),value:d?void 0:c})}return!0};return{changes:i,more:!a(t,[])}}function Sc(e){return e===void 0?`same`:`removed`}function Cc(e,t){return e===void 0?`added`:P(t)&&P(e)||e===t?`same`:`changed`}var wc=128,Tc=4e5,Ec=32,Dc=class{#e;#t=wc;#n;#r;#i;constructor(e,t){this.initial=e,this.#e=t;let n={count:0,state:e,cost:0};this.#n=[n],this.#r={...n},this.#i=n}get length(){return this.#r.count}get snapshotCount(){return this.#n.length}advance(e=1/0){let t=e===1/0?1/0:performance.now()+e,n=new ys;for(;this.#r.count<this.#e.length;){let e=this.#r,r=e.count+1;if(e.state=n.apply(e.state,this.#e[e.count]),e.count=r,r%this.#t===0&&(this.#a({count:r,state:e.state,cost:e.cost+n.copied}),e.cost=0,n=new ys),r%Ec===0&&performance.now()>=t)break}return this.#r.cost+=n.copied,this.#r.count===this.#e.length}at(e){let t=Math.max(0,Math.min(e,this.length));if(t===this.length)return this.#r.state;let n=this.#n.findLast(e=>e.count<=t);this.#i.count<=t&&this.#i.count>n.count&&(n=this.#i);let r=new ys,i=n.state;for(let e=n.count;e<t;++e)i=r.apply(i,this.#e[e]);return this.#i={count:t,state:i,cost:0},i}#a(e){this.#n.push(e);let t=0;for(let e of this.#n)t+=e.cost;t<=Tc||this.#n.length<4||(this.#t*=2,this.#n=this.#n.filter(e=>e.count%this.#t===0))}},Oc=class{constructor(){this.own=void 0,this.inside=void 0,this.children=new Map}},kc=2e4,Ac=class{constructor(){this.root=new Oc,this.#e=kc}#e;add(e,t){this.#t(this.root,e,t)}at(e){let t=this.root;for(let n of e){if(t.own!==void 0&&t.children.size===0)return t;if(t=t.children.get(n),t===void 0)return}return t}#t(e,t,n){for(let r of Object.keys(t)){let i=e.children.get(r);if(i===void 0){if(this.#e--<=0)break;i=new Oc,e.children.set(r,i)}let a=t[r];P(a)?(this.#t(i,a,n),Object.keys(a).length===0&&(i.own=n)):(i.own=n,i.children.clear(),i.inside=void 0)}e.inside=n}},jc=class{constructor(e,t,n,r){this.parent=e,this.key=t,this.value=n,this.depth=r,this.children=void 0,this.rows=1,this.place=0}get expanded(){return this.children!==void 0}get pointer(){return this.parent===void 0?``:this.parent.pointer+_c(this.key)}get segments(){let e=[];for(let t=this;t.parent!==void 0;t=t.parent)e.unshift(t.key);return e}};function $(e){return typeof e==`object`&&!!e}var Mc=new WeakMap;function Nc(e){if(Array.isArray(e))return e.length;let t=Mc.get(e);return t===void 0&&(t=Object.keys(e).length,Mc.set(e,t)),t}var Pc=class{#e;constructor(e={}){this.isArranged=!1,this.#e=new Set,this.root=new jc(void 0,``,e,-1),this.#t(this.root)}get rowCount(){return this.root.rows-1}update(e){this.#r(this.root,e),this.root.children===void 0&&this.#t(this.root)}row(e){if(e<0||e>=this.rowCount)return;let t=this.root,n=e+1;for(;n>0;){--n;let e;for(let r of t.children??[]){if(n<r.rows){e=r;break}n-=r.rows}if(e===void 0)return;t=e}return t}indexOf(e){let t=-1;for(let n=e;n.parent!==void 0;n=n.parent){++t;for(let e of n.parent.children??[]){if(e===n)break;t+=e.rows}}return t}slice(e,t){let n=[],r=this.row(e);if(r===void 0||t<=e)return n;let i=[];for(let e=r;e.parent!==void 0;e=e.parent){let t=e.parent.children??[];i.unshift({siblings:t,place:e.place})}for(;i.length>0&&n.length<t-e;){let e=i.at(-1),t=e.siblings[e.place];if(t===void 0){i.pop();let e=i.at(-1);e!==void 0&&++e.place}else n.push(t),t.children!==void 0&&t.children.length>0?i.push({siblings:t.children,place:0}):++e.place}return n}find(e,t=!1){let n=this.root;for(let r of e)if(t&&this.expand(n),n=n.children?.find(e=>e.key===r),n===void 0)return;return n}reveal(e){return this.find(e,!0)}expand(e){!e.expanded&&$(e.value)&&(e.parent!==void 0&&this.#e.add(e.pointer),this.#t(e))}collapse(e){e.parent!==void 0&&e.expanded&&(this.#e.delete(e.pointer),e.children=void 0,Fc(e,1-e.rows))}expandSiblings(e){for(let t of e.parent?.children??[])this.expand(t)}expandAll(e){let t=[this.root];for(;t.length>0;){let n=[];for(let r of t)if($(r.value)){if(!r.expanded&&this.rowCount+Nc(r.value)>e)return!1;this.expand(r);for(let e of r.children??[])n.push(e)}t=n}return!0}collapseAll(){this.#e.clear();for(let e of this.root.children??[])this.collapse(e)}#t(e){let t=this.#n(e,void 0);e.children=t,Fc(e,t.reduce((e,t)=>e+t.rows,0))}#n(e,t){let n=e.value;if(!$(n))return[];let r=Array.isArray(n)?Array.from(n.keys(),String):Object.keys(n),i=n,a,o=this.#e.size>0?e.pointer:``;return r.map((n,r)=>{let s=t?.[r];t!==void 0&&s?.key!==n&&(a??=new Map(t.map(e=>[e.key,e])),s=a.get(n));let c=i[n];if(s!==void 0)return s.place=r,this.#r(s,c),s;let l=new jc(e,n,c,e.depth+1);return l.place=r,$(c)&&this.#e.size>0&&this.#e.has(o+_c(n))&&(l.children=this.#n(l,void 0),l.rows+=l.children.reduce((e,t)=>e+t.rows,0)),l})}#r(e,t){if(e.value===t)return;let n=$(e.value);e.value=t,$(t)?(e.children!==void 0||!n&&this.#e.has(e.pointer))&&(e.children=this.#n(e,e.children),e.rows=e.children.reduce((e,t)=>e+t.rows,1)):(e.children=void 0,e.rows=1)}};function Fc(e,t){for(let n=e;n!==void 0;n=n.parent)n.rows+=t}var Ic=1e4,Lc=class{#e;constructor(e,t){this.hits=[],this.done=!1,this.capped=!1,this.#e=this.#t(e,t)}advance(e){let t=performance.now()+e;for(;!this.done&&performance.now()<t;)for(let e=0;e<256&&!this.done;++e)this.done=this.#e.next().done===!0;return this.done}*#t(e,t){let n=vc(t);n!==void 0&&n.length>0&&bc(e,n)!==void 0&&this.hits.push(n);let r=t.toLowerCase();yield*this.#n(e,[],``,r,this.hits.length>0?t:void 0)}*#n(e,t,n,r,i){if(!$(e))return;let a=e;for(let e of Object.keys(a)){yield;let o=n+_c(e).toLowerCase(),s=o.lastIndexOf(r);if(s>=0&&s+r.length>n.length+1&&o!==i?.toLowerCase()){if(this.hits.length>=1e4){this.capped=!0;return}this.hits.push([...t,e])}let c=a[e];if($(c)&&(t.push(e),yield*this.#n(c,t,o,r,i),t.pop(),this.capped))return}}};function Rc(e,t,n,r){if(e.altKey||e.ctrlKey||e.metaKey)return;let i={ArrowDown:t+1,ArrowUp:t-1,PageDown:t+r,PageUp:t-r,Home:0,End:n}[e.key];return i===void 0?void 0:Math.max(0,Math.min(n,i))}var zc=2e5,Bc=40,Vc=700,Hc=class extends x{constructor(...e){super(...e),this.value={},this.selected=void 0,this.marks=void 0,this.marksVersion=0,this.patches=[],this.words=``,this.tree=new Pc,this.#e=new tn(this),this.#t=``,this.#n=0}static{this.styles=[A,h`
      :host {
        min-height: 0;
        min-width: 0;
      }
      .port {
        height: 100%;
        overflow: auto;
        border-radius: inherit;
        scrollbar-width: thin;
      }
      .port:focus-visible {
        outline-offset: -3px;
      }
      .row {
        position: relative;
        display: flex;
        align-items: center;
        gap: 0.5rem;
        height: var(--row);
        padding-inline: 0.5rem 1rem;
        white-space: nowrap;
        cursor: default;
      }
      .row:hover {
        background: rgba(var(--mdui-color-on-surface), 0.05);
      }
      .row.marked::before {
        content: "";
        position: absolute;
        inset-inline-start: 0;
        inset-block: 3px;
        width: 3px;
        border-radius: 2px;
        background: var(--caution);
      }
      .row.marked {
        background: color-mix(in srgb, var(--caution) 9%, transparent);
      }
      .row[aria-selected="true"] {
        background: rgb(var(--mdui-color-secondary-container));
        color: rgb(var(--mdui-color-on-secondary-container));
      }
      .row[aria-selected="true"] .value,
      .row[aria-selected="true"] .twist {
        color: inherit;
      }
      .port:focus-visible .row[aria-selected="true"] {
        outline: 2px solid var(--accent);
        outline-offset: -2px;
      }
      .twist {
        display: grid;
        place-items: center;
        width: 1.5rem;
        height: 100%;
        flex: none;
        color: var(--quiet);
        transition: transform 120ms;
      }
      .open > .twist .icon {
        transform: rotate(90deg);
      }
      .key {
        flex: none;
        max-width: 55%;
        font-weight: 500;
      }
      .key.index {
        color: var(--quiet);
        font-weight: 400;
      }
      mark {
        background: var(--caution-container);
        color: inherit;
        border-radius: 3px;
        outline: 1px solid var(--caution);
      }
      .value {
        flex: 0 1 auto;
        color: var(--quiet);
      }
      .value.string {
        color: light-dark(#2b6a35, #a5d6a0);
      }
      .value.number {
        color: light-dark(#1d5aa8, #9ecbff);
      }
      .value.boolean {
        color: light-dark(#8a4200, #ffb68a);
      }
      .author {
        flex: 0 0 auto;
        max-width: min(12rem, 40%);
        padding: 0.0625rem 0.5rem;
        border-radius: 0.5rem;
        font: 500 0.75rem / 1.35 var(--font-page, system-ui);
        color: light-dark(#4a3300, #ffe0a0);
        background: var(--caution-container);
      }
      @media (forced-colors: active) {
        .row.marked::before {
          background: CanvasText;
        }
        .author {
          border: 1px solid;
        }
      }
      .author.inside {
        background: none;
        color: inherit;
        border: 1px dashed var(--caution);
      }
    `]}#e;#t;#n;willUpdate(e){(e.has(`value`)||e.has(`tree`))&&(this.tree.update(this.value),!this.tree.isArranged&&this.tree.rowCount<=Bc&&this.tree.expandAll(Bc)),e.has(`selected`)&&this.selected!==void 0&&this.selected.length>0&&this.tree.reveal(this.selected),this.#e.count=this.tree.rowCount,this.#e.rowHeight=N(2)}render(){let{first:e,last:t}=this.#e.rows,n=this.tree.slice(e,t),r=this.selected===void 0?void 0:this.tree.find(this.selected),i=n.indexOf(r);return v`<div
      class="port"
      role="tree"
      tabindex="0"
      aria-label="State"
      aria-activedescendant=${i>=0?`row${e+i}`:b}
      ${this.#e.attach}
      @scroll=${this.#e.onScroll}
      @keydown=${this.#s}
      style=${E({"--row":`${this.#e.rowHeight}px`})}
    >
      ${this.#e.draw(t=>{let i=n[t-e];return i===void 0?b:this.#r(i,t,i===r)})}
    </div>`}updated(e){if(!e.has(`selected`)||this.selected===void 0)return;let t=this.tree.find(this.selected);t!==void 0&&t.parent!==void 0&&this.#e.reveal(this.tree.indexOf(t))}expandAll(){this.tree.isArranged=!0,this.tree.expandAll(zc),this.requestUpdate()}collapseAll(){this.tree.isArranged=!0,this.tree.collapseAll(),this.requestUpdate()}#r(e,t,n){let{value:r,depth:i}=e,a=$(r)&&Nc(r)>0,o=this.marks?.at(e.segments),s=o?.own!==void 0&&(o.inside===void 0||o.own>=o.inside),c=!s&&o?.inside!==void 0&&!e.expanded,l=s?this.patches[o.own]:c?this.patches[o.inside]:void 0,u={paddingInlineStart:`calc(0.5rem + ${Math.min(i,40)} * var(--indent, 1.125rem))`},d=Array.isArray(e.parent?.value);return v`<div
      class="row code ${e.expanded?`open`:``} ${s?`marked`:``}"
      id="row${t}"
      role="treeitem"
      aria-level=${i+1}
      aria-setsize=${e.parent?.children?.length??1}
      aria-posinset=${e.place+1}
      aria-expanded=${a?e.expanded?`true`:`false`:b}
      aria-selected=${n?`true`:`false`}
      style=${E(u)}
      @click=${()=>this.#a(e)}
      @dblclick=${()=>this.#o(e)}
    >
      ${a?v`<span class="twist" @click=${t=>{t.stopPropagation(),this.#o(e)}}>${D(`right`)}</span>`:v`<span class="twist"></span>`}
      <span class="key clipped ${d?`index`:``}" dir="auto">${this.#i(e.key)}</span>
      <span class="value clipped ${typeof r}" dir="auto">${Uc(r,e.expanded)}</span>
      ${l===void 0?b:v`<span class="author clipped ${c?`inside`:``}" title="${c?`Changed inside`:`Changed`} by ${hc(l)}"
              ><span class="unseen">${c?`changed inside by `:`changed by `}</span><bdi>${hc(l)}</bdi></span
            >`}
    </div>`}#i(e){if(e===``)return`""`;let t=hn(j(e,120)),n=this.words===``?-1:t.toLowerCase().indexOf(this.words);if(n<0)return t;let r=n+this.words.length;return v`${t.slice(0,n)}<mark>${t.slice(n,r)}</mark>${t.slice(r)}`}#a(e){this.dispatchEvent(new CustomEvent(`select-path`,{detail:e.segments}))}#o(e){this.tree.isArranged=!0,e.expanded?this.tree.collapse(e):this.tree.expand(e),this.requestUpdate()}#s(e){if(e.altKey||e.ctrlKey||e.metaKey)return;let t=this.tree,n=this.selected===void 0?void 0:t.find(this.selected),r=n===void 0||n.parent===void 0?-1:t.indexOf(n),i=Math.max(1,Math.floor((this.#e.scroller.value?.clientHeight??300)/this.#e.rowHeight)-1),a=Rc(e,r,t.rowCount-1,i);if(a===void 0)switch(e.key){case`ArrowRight`:n===void 0||r<0?a=0:$(n.value)&&!n.expanded?this.#o(n):(n.children?.length??0)>0&&(a=r+1);break;case`ArrowLeft`:if(n===void 0||r<0)break;n.expanded?this.#o(n):n.parent?.parent!==void 0&&(a=t.indexOf(n.parent));break;case`Enter`:case` `:n!==void 0&&r>=0&&$(n.value)&&this.#o(n);break;case`*`:if(n===void 0)return;this.tree.isArranged=!0,t.expandSiblings(n),this.requestUpdate();break;default:if(e.key.length!==1)return;a=this.#c(e.key,r)}if(e.preventDefault(),a===void 0)return;let o=t.row(Math.max(0,Math.min(t.rowCount-1,a)));o!==void 0&&this.#a(o)}#c(e,t){let n=performance.now();this.#t=n-this.#n>Vc?e.toLowerCase():this.#t+e.toLowerCase(),this.#n=n;let r=this.tree.slice(0,this.tree.rowCount),i=this.#t.length>1?Math.max(0,t):t+1;for(let e=0;e<r.length;++e){let t=(i+e)%r.length;if(r[t].key.toLowerCase().startsWith(this.#t))return t}}};O([C({attribute:!1})],Hc.prototype,`value`,void 0),O([C({attribute:!1})],Hc.prototype,`selected`,void 0),O([C({attribute:!1})],Hc.prototype,`marks`,void 0),O([C({attribute:!1})],Hc.prototype,`marksVersion`,void 0),O([C({attribute:!1})],Hc.prototype,`patches`,void 0),O([C({attribute:!1})],Hc.prototype,`words`,void 0),O([C({attribute:!1})],Hc.prototype,`tree`,void 0),Hc=O([S(`narratoria-state-tree`)],Hc);function Uc(e,t){if(Array.isArray(e))return e.length===0?`[]`:t?`[${e.length}]`:`[${e.length}] ${_n(e,100)}`;if($(e)){let n=Nc(e);return n===0?`{}`:t?`{${n}}`:`{${n}} ${_n(e,100)}`}return _n(e,240)}function Wc(e){return e.length===0?`the whole state`:hn(gc(e))}function Gc({patch:e,nulls:t={}},n){let r=e;for(let e=0;e<n.length;++e){if(!P(r))return r===null?`removed`:`above`;let t=n[e];if(!Object.hasOwn(r,t))return;r=r[t]}return P(r)?`inside`:r===null&&bc(t,n)!==null?`removed`:`set`}function Kc(e,t,n,r,i=0){let a=[];for(let o=t-1;o>=i;--o){let t=Gc(e[o],n);if(t!==void 0){if(a.length===r)return{writings:a,more:!0};a.push({index:o,effect:t})}}return{writings:a,more:!1}}var qc=8,Jc=200,Yc=40,Xc=30,Zc=2e4,Qc={set:`set`,removed:`removed`,inside:`changed inside`,above:`replaced together with its parent`},$c=class extends jt{constructor(...e){super(...e),this.position=void 0,this.selected=[],this.words=``,this.hit=-1,this.room=Zc,this.#t=new Pc,this.#n=0,this.#r={},this.#i=new Ac,this.#a=-1,this.#o=-1,this.#s=0,this.#u=0,this.#d=[],this.#f=!1,this.#p=``,this.#m=0}static{this.styles=[A,h`
      :host {
        height: 100%;
        overflow: hidden;
        container-type: inline-size;
      }
      .view {
        display: grid;
        grid-template-columns: minmax(0, 1fr) minmax(20rem, 28rem);
        grid-template-rows: auto auto minmax(0, 1fr);
        gap: 0 1.25rem;
        height: 100%;
        padding: 1.25rem clamp(0.75rem, 2.5cqw, 2rem) 1.25rem;
      }
      .top {
        grid-column: 1 / -1;
        display: flex;
        flex-wrap: wrap;
        align-items: center;
        gap: 0.75rem 1rem;
        margin-bottom: 0.75rem;
      }
      h1 {
        font-size: 1.375rem;
        margin-inline-end: auto;
      }
      .search {
        display: flex;
        align-items: center;
        flex: 0 1 26rem;
        min-width: min(100%, 16rem);
        height: 2.75rem;
        padding-inline: 1rem 0.25rem;
        border-radius: 1.375rem;
        background: rgb(var(--mdui-color-surface-container-high));
        color: var(--quiet);
      }
      .search:focus-within {
        outline: 2px solid var(--accent);
        outline-offset: 2px;
      }
      .search input {
        flex: 1;
        min-width: 0;
        height: 100%;
        padding: 0 0.75rem;
        border: 0;
        outline: 0;
        font: inherit;
        color: rgb(var(--mdui-color-on-surface));
        background: none;
      }
      .search input::placeholder {
        color: var(--quiet);
        opacity: 1;
      }
      .search input::-webkit-search-cancel-button {
        display: none;
      }
      .hits {
        white-space: nowrap;
        font-size: 0.75rem;
      }
      .search .icon-button {
        width: 2.25rem;
        height: 2.25rem;
      }
      .time {
        grid-column: 1 / -1;
        display: grid;
        grid-template-columns: auto auto minmax(0, 1fr) auto;
        align-items: center;
        gap: 0.25rem 0.5rem;
        padding: 0.5rem 0.75rem;
        margin-bottom: 1rem;
      }
      .slide {
        position: relative;
        display: grid;
        gap: 0.125rem;
        min-width: 0;
      }
      .about {
        display: flex;
        gap: 0.5rem;
        min-width: 0;
        font-size: 0.8125rem;
        color: var(--quiet);
      }
      .about strong {
        color: rgb(var(--mdui-color-on-surface));
        font-weight: 500;
        white-space: nowrap;
      }
      input[type="range"] {
        appearance: none;
        width: 100%;
        height: 1.5rem;
        margin: 0;
        background: none;
        cursor: pointer;
        border-radius: 0.75rem;
      }
      input[type="range"]::-webkit-slider-runnable-track {
        height: 0.25rem;
        border-radius: 0.125rem;
        background: linear-gradient(var(--accent), var(--accent)) 0 0 / var(--part) 100% no-repeat
          rgb(var(--mdui-color-surface-container-highest));
      }
      input[type="range"]::-webkit-slider-thumb {
        appearance: none;
        width: 1.25rem;
        height: 1.25rem;
        margin-top: -0.5rem;
        border-radius: 50%;
        background: var(--accent);
        box-shadow: 0 1px 3px rgb(0 0 0 / 0.4);
      }
      input[type="range"]::-moz-range-track {
        height: 0.25rem;
        border-radius: 0.125rem;
        background: rgb(var(--mdui-color-surface-container-highest));
      }
      input[type="range"]::-moz-range-progress {
        height: 0.25rem;
        border-radius: 0.125rem;
        background: var(--accent);
      }
      input[type="range"]::-moz-range-thumb {
        width: 1.25rem;
        height: 1.25rem;
        border: 0;
        border-radius: 50%;
        background: var(--accent);
      }
      .live {
        min-width: 5.5rem;
      }
      .live[aria-pressed="true"] {
        color: rgb(var(--mdui-color-on-primary));
        background: var(--accent);
      }
      .live[aria-pressed="false"] {
        color: var(--accent);
        background: none;
        box-shadow: inset 0 0 0 1px rgb(var(--mdui-color-outline));
      }
      .tree {
        min-height: 0;
        display: grid;
        grid-template-rows: minmax(0, 1fr);
        padding-block: 0.5rem;
      }
      .detail {
        min-height: 0;
        overflow: auto;
        overflow-wrap: anywhere;
        scrollbar-width: thin;
        display: grid;
        gap: 1.25rem;
        align-content: start;
        grid-template-columns: minmax(0, 1fr);
        padding-bottom: 1rem;
      }
      h2 {
        font-size: 1rem;
        overflow-wrap: anywhere;
      }
      h3 {
        font-size: 0.875rem;
        color: var(--quiet);
        margin-bottom: 0.5rem;
      }
      .heading {
        display: flex;
        align-items: center;
        gap: 0.5rem;
        justify-content: space-between;
        min-height: 2.5rem;
      }
      .heading h3 {
        margin: 0;
      }
      .pointer {
        font-family: var(--code);
        font-size: 0.875rem;
        flex: 1;
        min-width: 0;
      }
      .json {
        padding: 0.75rem 1rem;
        max-height: 26rem;
        overflow: auto;
        border-radius: 0.75rem;
        background: rgb(var(--mdui-color-surface-container));
        scrollbar-width: thin;
      }
      .json pre {
        white-space: pre-wrap;
        overflow-wrap: anywhere;
        unicode-bidi: plaintext;
        line-height: 1.5;
      }
      .writings {
        display: grid;
        gap: 0.25rem;
      }
      .writing {
        display: grid;
        grid-template-columns: minmax(0, 1fr) auto;
        gap: 0 0.75rem;
        padding: 0.5rem 0.75rem;
        border-radius: 0.75rem;
        background: rgb(var(--mdui-color-surface-container-low));
      }
      .writing .value {
        grid-column: 1 / -1;
        color: var(--quiet);
        overflow-wrap: anywhere;
      }
      .writing button {
        color: var(--accent);
        font-size: 0.8125rem;
        border-radius: 0.5rem;
        padding: 0 0.375rem;
        min-height: 1.5rem;
      }
      .change {
        padding: 0.375rem 0.75rem;
        border-radius: 0.75rem;
        display: block;
        width: 100%;
        text-align: start;
        overflow-wrap: anywhere;
      }
      .change:hover {
        background: rgba(var(--mdui-color-on-surface), 0.06);
      }
      .change .what {
        display: inline-block;
        min-width: 4.5rem;
        font-size: 0.75rem;
        color: var(--quiet);
      }
      .change code {
        overflow-wrap: anywhere;
      }
      .quiet {
        color: var(--quiet);
      }
      .conflict {
        padding: 0.75rem 1rem;
        border-radius: 0.75rem;
        background: var(--caution-container);
        overflow-wrap: anywhere;
      }
      .tools {
        display: flex;
      }
      @media (forced-colors: active) {
        input[type="range"] {
          appearance: auto;
        }
        .search {
          border: 1px solid CanvasText;
        }
      }
      @container (max-width: 839.98px) {
        .view {
          display: block;
          overflow: auto;
        }
        .tree {
          height: clamp(16rem, 55vh, 40rem);
          margin-bottom: 1.25rem;
        }
        narratoria-state-tree {
          --indent: 0.75rem;
        }
        .detail {
          overflow: visible;
        }
        .time {
          grid-template-columns: auto auto minmax(0, 1fr);
        }
        .slide {
          grid-column: 1 / -1;
          grid-row: 1;
        }
        .live {
          justify-self: end;
        }
        .about {
          flex-wrap: wrap;
          gap: 0 0.5rem;
        }
      }
    `]}#e;#t;#n;#r;#i;#a;#o;#s;#c;#l;#u;#d;#f;#p;#m;willUpdate(e){super.willUpdate(e);let t=this.session;if(t===void 0)return;let n=tl(t);this.#e!==n.history&&(this.#e=n.history,this.#t=n.tree,this.position=void 0),e.has(`path`)&&this.#T(vc(this.path[0]??``)??[]);let r=this.#e;r.advance(qc)||requestAnimationFrame(()=>this.requestUpdate()),this.position!==void 0&&this.position>=r.length&&(this.position=void 0),this.#n=this.position??r.length,this.#r=r.at(this.#n),this.#v(t),this.#D(t),this.words!==``&&this.#l!==this.#r&&this.#S()}render(){let e=this.session;return e===void 0?b:e.patches.length===0&&Nc(this.#r)===0?At(`tree`,`No state yet`,`The state of the story will appear here.`):v`<div class="view">
      <header class="top">
        <h1>State</h1>
        ${this.#y()}
        <span class="tools">
          <button class="icon-button" type="button" aria-label="Expand all" title="Expand all" @click=${()=>this.#h?.expandAll()}>${D(`unfoldMore`)}</button>
          <button class="icon-button" type="button" aria-label="Collapse all" title="Collapse all" @click=${()=>this.#h?.collapseAll()}>${D(`unfoldLess`)}</button>
        </span>
      </header>
      ${this.#g(e)}
      <section class="card tree" aria-label="Tree">
        ${Nc(this.#r)===0?v`<p class="empty">The state is empty at this point.</p>`:v`<narratoria-state-tree
                .tree=${this.#t}
                .value=${this.#r}
                .selected=${this.selected.length>0?this.selected:void 0}
                .marks=${this.#i}
                .marksVersion=${this.#s}
                .patches=${e.patches}
                .words=${this.words.startsWith(`/`)?``:this.words.toLowerCase()}
                @select-path=${e=>this.#E(e.detail)}
              ></narratoria-state-tree>`}
      </section>
      <aside class="detail" aria-label="Details">${this.#O(e)}</aside>
    </div>`}get#h(){return this.renderRoot.querySelector(`narratoria-state-tree`)}#g(e){let t=this.#e?.length??0,n=e.patches[this.#n-1],r=this.position===void 0,i=n===void 0?`before the first patch`:`patch ${this.#n} of ${t}, by ${hc(n)}, ${Ri(n.time)}`;return v`<section class="card time" aria-label="History">
      <button class="icon-button" type="button" aria-label="Previous patch" title="Previous patch" ?disabled=${this.#n===0} @click=${()=>this.#_(this.#n-1)}>${D(`left`)}</button>
      <button class="icon-button" type="button" aria-label="Next patch" title="Next patch" ?disabled=${r||this.#n>=t} @click=${()=>this.#_(this.#n+1)}>${D(`right`)}</button>
      <div class="slide">
        <span class="about" aria-hidden="true">
          ${n===void 0?v`<strong>${t===0?this.session?.turns[0]?.isPast===!0?`No patches since the game continued`:`No patches yet`:`Before the first of ${M(t,`patch`,`patches`)}`}</strong>`:v`<strong class="number">Patch ${this.#n.toLocaleString(`en`)} of ${t.toLocaleString(`en`)}</strong><span class="clipped">by <bdi>${hc(n)}</bdi></span><span class="number">${Ri(n.time)}</span>`}
        </span>
        <input
          type="range"
          min="0"
          max=${t}
          step="1"
          .value=${String(this.#n)}
          ?disabled=${t===0}
          aria-label="History of the state"
          aria-valuetext=${i}
          @input=${e=>this.#_(Number(e.target.value))}
        />
      </div>
      <button class="button live" type="button" aria-pressed=${r?`true`:`false`} title="Follow what happens" @click=${()=>this.#_(r?t-1:t)}>Live</button>
    </section>`}#_(e){let t=this.#e?.length??0;this.position=e>=t?void 0:Math.max(0,e)}updated(){let e=this.renderRoot.querySelector(`input[type="range"]`),t=this.#e?.length??0;e!==null&&e.value!==String(this.#n)&&(e.value=String(this.#n)),e?.style.setProperty(`--part`,`${t===0?0:this.#n/t*100}%`)}#v(e){let t=this.#n,n=Math.max(0,t-1);if(this.position===void 0){let r=e.turns.at(-1)?.started??0;for(n=Math.max(0,t-Jc);n<t-1&&e.patches[n].time<r;)++n}for((n!==this.#a||t<this.#o)&&(this.#i=new Ac,this.#o=n,this.#a=n,++this.#s);this.#o<t;++this.#o)this.#i.add(e.patches[this.#o].patch,this.#o),++this.#s}#y(){let e=this.#c,t=e?.hits.length??0,n=``;return e!==void 0&&(n=t===0?e.done?`nothing`:`…`:`${this.hit>=0?`${this.hit+1} of `:``}${t.toLocaleString(`en`)}${e.capped?`+`:``}`),v`<div class="search" role="search">
      ${D(`search`)}
      <input
        type="search"
        dir="auto"
        placeholder="Search by path"
        aria-label="Search by path: words or a JSON Pointer"
        .value=${this.words}
        @input=${e=>this.#b(e.target.value)}
        @keydown=${this.#w}
      />
      <span class="hits number" role="status">${n}</span>
      <button class="icon-button" type="button" aria-label="Previous hit" title="Previous hit (Shift+Enter)" ?disabled=${t===0} @click=${()=>this.#C(-1)}>${D(`up`)}</button>
      <button class="icon-button" type="button" aria-label="Next hit" title="Next hit (Enter)" ?disabled=${t===0} @click=${()=>this.#C(1)}>${D(`down`)}</button>
    </div>`}#b(e){this.words=e,this.hit=-1,this.#c=void 0,e!==``&&this.#x()}#x(){this.#l=this.#r;let e=new Lc(this.#r,this.words),t=this.hit>=0?gc(this.selected):void 0,n=()=>{this.#c===e&&this.isConnected&&(e.advance(qc)?t!==void 0&&(this.hit=e.hits.slice(0,Ic).findIndex(e=>gc(e)===t)):requestAnimationFrame(n),this.requestUpdate())};this.#c=e,n()}#S(){this.#u===0&&(this.#u=window.setTimeout(()=>{this.#u=0,this.words!==``&&this.#l!==this.#r&&this.#x()},400))}#C(e){let t=this.#c?.hits??[];t.length!==0&&(this.hit=this.hit<0?e>0?0:t.length-1:(this.hit+e+t.length)%t.length,this.#E(t[this.hit]))}#w(e){if(e.key===`Enter`)this.#C(e.shiftKey?-1:1);else if(e.key===`Escape`&&this.words!==``)this.#b(``);else return;e.preventDefault()}#T(e){gc(e)!==gc(this.selected)&&(this.selected=e,this.room=Zc)}#E(e){this.#T(e),history.replaceState(history.state,``,e.length===0?`#/state`:`#/state/${an(gc(e))}`)}#D(e){let t=gc(this.selected);if(this.selected.length===0)return;if(t!==this.#p||this.#n<this.#m){this.#p=t,this.#m=this.#n;let n=Kc(e.patches,this.#n,this.selected,Yc);this.#d=n.writings,this.#f=n.more;return}let{writings:n,more:r}=Kc(e.patches,this.#n,this.selected,Yc,this.#m);if(this.#m=this.#n,n.length===0)return;let i=[...n,...this.#d];this.#f||=r||i.length>Yc,this.#d=i.slice(0,Yc)}#O(e){let t=this.selected,n=bc(this.#r,t);return v`<div>
        <div class="heading">
          <h2 class="pointer" dir="auto">${j(Wc(t),600)}</h2>
          ${t.length===0?b:v`<narratoria-copy compact label="Copy the path" .text=${gc(t)}></narratoria-copy>
                  <button class="icon-button" type="button" aria-label="Back to the whole state" title="Back to the whole state" @click=${()=>this.#E([])}>${D(`close`)}</button>`}
        </div>
        <p class="quiet">${rl(n)}</p>
      </div>
      ${t.length===0||this.position!==void 0?this.#A(e):b}
      ${n===void 0?b:this.#k(n)}
      ${t.length===0?b:this.#M(e,t)}
      ${this.#P(e,gc(t))}`}#k(e){let{text:t,complete:n}=pn(e,this.room);return v`<section>
      <div class="heading">
        <h3>JSON</h3>
        <narratoria-copy compact label="Copy as JSON" .text=${()=>JSON.stringify(e,null,2)}></narratoria-copy>
      </div>
      <div class="json code" tabindex="0" role="group" aria-label="Value as JSON">
        <pre dir="auto">${t}${n?``:`…`}</pre>
        ${n?b:v`<button class="button plain" type="button" @click=${()=>this.room*=4}>Show more</button>`}
      </div>
    </section>`}#A(e){let t=e.patches[this.#n-1];if(t===void 0||this.#e===void 0)return b;let{changes:n,more:r}=xc(this.#e.at(this.#n-1),t,Xc);return v`<section>
      <h3>${this.position===void 0?`The newest patch`:`This patch`}, by ${nl(t)}</h3>
      <ul>
        ${n.map(e=>this.#j(e))}
        ${n.length===0?v`<li class="quiet">It changes nothing.</li>`:b}
        ${r?v`<li class="quiet">and more.</li>`:b}
      </ul>
    </section>`}#j(e){return v`<li>
      <button class="change" type="button" @click=${()=>this.#E(e.segments)}>
        <span class="what">${e.what===`same`?`as before`:e.what}</span> <code dir="auto">${j(Wc(e.segments),200)}</code>
        ${e.value===void 0?b:v` = <code class="quiet" dir="auto">${_n(e.value,120)}</code>`}
      </button>
    </li>`}#M(e,t){let n=bc(e.initialState,t);return v`<section>
      <h3>Who changed it</h3>
      <ol class="writings">
        ${this.#d.map(n=>this.#N(e,n,t))}
        ${n!==void 0&&!this.#f?v`<li class="writing"><span>from the beginning</span><span class="value code" dir="auto">${_n(n,200)}</span></li>`:b}
        ${this.#d.length===0&&n===void 0?v`<li class="quiet">Not changed so far.</li>`:b}
        ${this.#f?v`<li class="quiet">and earlier ones.</li>`:b}
      </ol>
    </section>`}#N(e,{index:t,effect:n},r){let i=e.patches[t];if(i===void 0)return b;let a=n===`set`||n===`inside`?bc(i.patch,r):void 0;return v`<li class="writing">
      <span>${Qc[n]} by ${nl(i)}</span>
      <button type="button" class="number" title="Show the state after this patch" @click=${()=>this.#_(t+1)}>
        <span class="unseen">Patch ${t+1}, </span>${Ri(i.time)}
      </button>
      ${a===void 0?b:v`<span class="value code" dir="auto">${_n(a,200)}</span>`}
    </li>`}#P(e,t){let n=e=>t===``||e===t||e.startsWith(`${t}/`),r=e.conflicts.filter(e=>n(e.path)).slice(-5).reverse();return r.length===0?b:v`<section>
      <h3>Written by two tools at once</h3>
      <ul class="writings">
        ${r.map(e=>v`<li class="conflict"><code dir="auto">${j(hn(e.path),200)}</code>: <bdi>${j(e.tools[0]??``,60)}</bdi>, then <bdi>${j(e.tools[1]??``,60)}</bdi>, which takes effect</li>`)}
      </ul>
    </section>`}};O([w()],$c.prototype,`position`,void 0),O([w()],$c.prototype,`selected`,void 0),O([w()],$c.prototype,`words`,void 0),O([w()],$c.prototype,`hit`,void 0),O([w()],$c.prototype,`room`,void 0),$c=O([S(`narratoria-state`)],$c);var el=new WeakMap;function tl(e){let t=el.get(e);return(t===void 0||t.history.initial!==e.initialState)&&(t={history:new Dc(e.initialState,e.patches),tree:new Pc},el.set(e,t)),t}function nl(e){let t=hc(e);return e.by!==void 0||e.planKey===void 0||e.toolId===void 0?v`<bdi>${t}</bdi>`:v`<a href=${Mi(e.planKey,e.toolId)}><bdi>${t}</bdi></a>`}function rl(e){return e===void 0?`Not there at this point.`:Array.isArray(e)?`a list of ${M(e.length,`item`)}`:$(e)?`an object with ${M(Nc(e),`key`)}`:typeof e==`string`?`a text of ${M(e.length,`character`)}`:e===null?`null`:`a ${typeof e}`}var il=class{#e;#t;#n;#r;#i;constructor(e){this.counts={debug:0,info:0,warn:0,error:0},this.#n=0,this.#r=new Uint32Array(64),this.#i=0,this.#t=e}get length(){return this.#i}update(e,t){if(e!==this.#e||t!==this.#t){e!==this.#e&&(this.counts.debug=this.counts.info=this.counts.warn=this.counts.error=0);let n=e!==this.#e;this.#e=e,this.#t=t;let r=this.#n;if(this.#i=0,this.#n=n?0:r,!n)for(let t=0;t<r;++t)this.#a(e,t)}for(;this.#n<e.length;++this.#n)++this.counts[e.levelAt(this.#n)],this.#a(e,this.#n)}at(e){return e<this.#i?this.#r[e]:-1}placeOf(e){let t=0,n=this.#i;for(;t<n;){let r=t+n>>1;this.#r[r]<e?t=r+1:n=r}return t}#a(e,t){if(this.#t.has(e.levelAt(t))){if(this.#i===this.#r.length){let e=new Uint32Array(this.#i*2);e.set(this.#r),this.#r=e}this.#r[this.#i++]=t}}},al={debug:`dot`,info:`info`,warn:`warning`,error:`error`},ol=400,sl=class extends x{static{this.styles=[A,h`
      :host {
        position: relative;
        container-type: inline-size;
      }
      .chips {
        margin-bottom: 0.75rem;
      }
      .chip .icon {
        color: var(--tone);
      }
      .port {
        height: min(24rem, 50vh);
        min-height: 8rem;
        overflow: auto;
        overflow-x: hidden;
        border-radius: 0.75rem;
        background: rgb(var(--mdui-color-surface-container-lowest));
        border: 1px solid rgba(var(--mdui-color-outline-variant), 0.5);
        scrollbar-width: thin;
        contain: strict;
      }
      .port.short {
        height: auto;
        contain: content;
      }
      .row {
        display: flex;
        align-items: center;
        gap: 0.625rem;
        height: var(--row);
        padding: 0 0.75rem;
        white-space: nowrap;
        cursor: pointer;
      }
      .row:hover {
        background: rgba(var(--mdui-color-on-surface), 0.05);
      }
      .row[aria-selected="true"] {
        background: rgb(var(--mdui-color-secondary-container));
        color: rgb(var(--mdui-color-on-secondary-container));
      }
      .row .icon {
        color: var(--tone);
        font-size: 0.875rem;
      }
      .row.debug .message {
        color: var(--quiet);
      }
      .when {
        color: var(--quiet);
        font-size: 0.75rem;
      }
      .row[aria-selected="true"] > * {
        color: inherit !important;
      }
      .message {
        flex: 1;
        text-align: start;
      }
      .newest {
        position: absolute;
        inset-inline-end: 1rem;
        margin-top: -3rem;
        box-shadow: 0 2px 6px rgb(0 0 0 / 0.35);
        color: rgb(var(--mdui-color-on-primary));
        background: var(--accent);
      }
      .line {
        margin-top: 0.75rem;
        padding: 0.75rem 1rem;
        display: grid;
        gap: 0.5rem;
      }
      .line header {
        display: flex;
        align-items: center;
        gap: 0.5rem;
        color: var(--quiet);
      }
      .line header > span {
        flex: 1;
      }
      .none {
        padding: 1rem;
        color: var(--quiet);
      }
      @container (max-width: 420px) {
        .when {
          display: none;
        }
      }
    `]}#e;#t;constructor(){super(),this.invocation=void 0,this.revision=0,this.wanted=new Set(gs),this.chosen=-1,this.#e=new tn(this),this.#t=new il(this.wanted),this.#e.follows=!0}willUpdate(e){let t=this.invocation?.logs;t!==void 0&&(e.has(`invocation`)&&(this.chosen=-1,this.#e.follows=!0),this.#t.update(t,this.wanted),this.#e.count=this.#t.length,this.#e.rowHeight=N(1.75))}render(){let e=this.invocation?.logs;if(e===void 0)return b;let t=this.#t.length,n=this.chosen>=0&&this.wanted.has(e.levelAt(this.chosen))?this.#t.placeOf(this.chosen):-1,r=(this.invocation?.attempts.length??0)>1;return v`<div class="chips" role="group" aria-label="Levels shown">
        ${gs.map(e=>v`<button
            class="chip ${e}"
            type="button"
            aria-pressed=${this.wanted.has(e)?`true`:`false`}
            @click=${()=>this.#i(e)}
          >
            ${D(al[e])}${e}<span class="number">${this.#t.counts[e].toLocaleString(`en`)}</span>
          </button>`)}
      </div>
      ${t===0?v`<p class="card none">${e.length===0?`No log lines.`:`No lines of these levels.`}</p>`:v`<div
                class="port ${t<10?`short`:``}"
                role="listbox"
                tabindex="0"
                aria-label="Log, ${M(t,`line`)}"
                aria-activedescendant=${n>=this.#e.rows.first&&n<this.#e.rows.last?`line${n}`:b}
                ${this.#e.attach}
                @scroll=${this.#e.onScroll}
                @keydown=${this.#s}
                style=${E({"--row":`${this.#e.rowHeight}px`})}
              >
                ${this.#e.draw(e=>this.#n(e,n,t,r))}
              </div>
              ${this.#e.follows?b:v`<button class="button newest" type="button" @click=${this.#o}>${D(`down`)}Newest</button>`}`}
      ${this.#r()}`}#n(e,t,n,r){let i=this.invocation?.logs.at(this.#t.at(e));return i===void 0?b:v`<div
      class="row code ${i.level}"
      id="line${e}"
      role="option"
      aria-selected=${e===t?`true`:`false`}
      aria-setsize=${n}
      aria-posinset=${e+1}
      @click=${()=>this.#a(e)}
    >
      ${D(al[i.level])}<span class="unseen">${i.level}:</span>
      <span class="when number">${Ri(i.time)}${r?v` <span title="Attempt ${i.attempt}">#${i.attempt}</span>`:b}</span>
      <span class="message clipped" dir="auto">${i.message.slice(0,ol)}</span>
    </div>`}#r(){let e=this.invocation?.logs.at(this.chosen);if(e===void 0)return b;let t=e.fields;return v`<section class="card line" aria-label="Selected line">
      <header>
        <span class="number">${Ri(e.time)} · ${e.level} · attempt ${e.attempt}</span>
        <narratoria-copy compact label="Copy this line" .text=${()=>t===void 0?e.message:`${e.message}\n${JSON.stringify(t,null,2)}`}></narratoria-copy>
        <button class="icon-button" type="button" aria-label="Close the line" title="Close" @click=${()=>this.chosen=-1}>${D(`close`)}</button>
      </header>
      <narratoria-long-text class="code" verbatim .text=${e.message}></narratoria-long-text>
      ${mt([t],()=>t===void 0?b:v`<narratoria-long-text class="code" verbatim .text=${pn(t,1e6).text}></narratoria-long-text>`)}
    </section>`}#i(e){let t=new Set(this.wanted);t.delete(e)||t.add(e),this.wanted=t}#a(e){this.chosen=this.#t.at(e),this.#e.follows=!1}#o(){this.#e.follows=!0,this.#e.toEnd(),this.requestUpdate()}#s(e){let t=this.#t.length-1,n=this.#e.rows,r=this.chosen>=0?this.#t.placeOf(this.chosen):this.#e.isAtEnd?t+1:n.first-1;if(e.altKey||e.ctrlKey||e.metaKey)return;if(e.key===`Escape`&&this.chosen>=0){e.stopPropagation(),this.chosen=-1;return}let i=Rc(e,r,t,12);i!==void 0&&(e.preventDefault(),this.#a(i),this.#e.reveal(i))}};O([C({attribute:!1})],sl.prototype,`invocation`,void 0),O([C({attribute:!1})],sl.prototype,`revision`,void 0),O([w()],sl.prototype,`wanted`,void 0),O([w()],sl.prototype,`chosen`,void 0),sl=O([S(`narratoria-log`)],sl);var cl={pending:`pending`,running:`running`,retrying:`retry`,completed:`check`,failed:`error`,skipped:`skip`,timeout:`hourglass`,stopped:`stop`},ll={pending:`waiting`,running:`running`,retrying:`trying again`,completed:`completed`,failed:`failed`,skipped:`skipped`,timeout:`timed out`,stopped:`stopped`};function ul(e){return e!==`pending`&&e!==`running`&&e!==`retrying`}function dl(e,t){if(e.started!==void 0)return e.executionTime===void 0?Math.max(0,(e.ended??t)-e.started):e.executionTime}function fl(e,t){return Math.max(0,(e.ended??t)-e.started)}function pl(e,t,n=!1){let r=[ll[e.state]],i=dl(e,t),{state:a,progress:o}=e;if(a===`running`&&o!==void 0?r.push(Lt(o)):i!==void 0&&a!==`skipped`&&r.push(Li(i)),e.attempts.length>1){let t=e.attempts.length;r.push(n?`${t}×`:ul(a)?M(t,`attempt`):`attempt ${t}`)}return r.join(` · `)}function ml({dependencies:e}){return e.length>0?`, runs after ${hl(e)}`:``}function hl(e,t=6){let n=e.slice(0,t).map(e=>j(e,60));return e.length>t&&n.push(`${e.length-t} more`),n.join(`, `)}function gl(e){return e.state===`completed`?1:e.progress??0}function _l(e){if(e.ended!==void 0)return e.success===!0?e.failedTools.length>0?`mixed`:`completed`:vl(e)?`stopped`:`failed`;let t=e.turn.outcome;return t===void 0?`running`:Sl(t)?`stopped`:`failed`}function vl(e){let t=[...e.invocations.values()].map(e=>e.state);return t.includes(`stopped`)?!0:e.turn.outcome===`cancelled`&&!t.includes(`failed`)&&!t.includes(`timeout`)}var yl={running:`running`,completed:`check`,mixed:`warning`,failed:`error`,stopped:`stop`,narrated:`book`};function bl(e){return e===`mixed`?`partly completed`:e}function xl(e){return e.outcome===void 0?`running`:e.outcome===`completed`?e.plans.at(-1)?.success===!1?`narrated`:e.plans.some(e=>e.success===!1||e.failedTools.length>0)?`mixed`:`completed`:Sl(e.outcome)?`stopped`:`failed`}function Sl(e){return e===`cancelled`||e===`lost`}var Cl={completed:`completed`,fallback:`fallback`,cancelled:`stopped`,timeout:`timed out`,failed:`failed`,lost:`interrupted`};function wl(e){if(e.outcome===void 0)return`running`;let t=xl(e);return t===`narrated`?`narration only`:t===`mixed`?bl(t):Cl[e.outcome]}function Tl(e,t){return e.ended??e.turn.ended??t}var El=12,Dl=50,Ol=2e6,kl=class extends x{static{this.styles=[A,h`
      :host {
        container-type: inline-size;
      }
      .panel {
        display: grid;
        grid-template-columns: minmax(0, 1fr);
        gap: 1.25rem;
      }
      header {
        display: flex;
        align-items: flex-start;
        gap: 0.75rem;
      }
      .title {
        flex: 1;
        min-width: 0;
      }
      h1:focus {
        outline: none;
      }
      h1 {
        font-size: 1.25rem;
        line-height: 1.3;
        overflow-wrap: anywhere;
      }
      h2 {
        font-size: 0.875rem;
        color: var(--quiet);
        display: flex;
        align-items: center;
        justify-content: space-between;
        min-height: 2rem;
        margin-bottom: 0.25rem;
      }
      .sign {
        display: grid;
        place-items: center;
        width: 2.5rem;
        height: 2.5rem;
        border-radius: 50%;
        flex: none;
        font-size: 1.1rem;
        color: var(--tone);
        background: color-mix(in srgb, var(--tone) 16%, transparent);
      }
      .progress {
        height: 0.5rem;
        border-radius: 0.25rem;
        background: rgb(var(--mdui-color-surface-container-highest));
        overflow: hidden;
      }
      .progress > span {
        display: block;
        height: 100%;
        width: 100%;
        transform-origin: left;
        background: var(--accent);
        border-radius: inherit;
        transition: transform 160ms linear;
      }
      .progress.unknown > span {
        width: 35%;
        animation: slide 1.4s ease-in-out infinite;
      }
      @keyframes slide {
        from {
          transform: translateX(-100%);
        }
        to {
          transform: translateX(300%);
        }
      }
      .progress-line {
        display: flex;
        align-items: center;
        gap: 0.75rem;
      }
      .progress-line .progress {
        flex: 1;
      }
      .facts {
        display: grid;
        grid-template-columns: minmax(6rem, auto) minmax(0, 1fr);
        gap: 0.375rem 1rem;
      }
      .facts dt {
        color: var(--quiet);
      }
      .facts dd {
        overflow-wrap: anywhere;
      }
      .attempts {
        display: grid;
        gap: 0.5rem;
      }
      .attempt {
        display: grid;
        grid-template-columns: auto minmax(0, 1fr) auto;
        gap: 0.125rem 0.75rem;
        align-items: center;
        padding: 0.5rem 0.75rem;
        border-radius: 0.75rem;
        background: rgb(var(--mdui-color-surface-container));
      }
      .attempt .icon {
        color: var(--tone);
      }
      .attempt .why {
        grid-column: 2 / -1;
        color: var(--quiet);
      }
      .trouble {
        padding: 0.75rem 1rem;
        border-radius: 1rem;
        background: color-mix(in srgb, var(--bad) 9%, transparent);
        border: 1px solid color-mix(in srgb, var(--bad) 45%, transparent);
        display: grid;
        gap: 0.5rem;
      }
      .trouble header > .icon {
        color: var(--bad);
      }
      .trouble + .trouble {
        margin-top: 0.5rem;
      }
      .trouble header {
        align-items: center;
      }
      .trouble header strong {
        flex: 1;
        overflow-wrap: anywhere;
      }
      .when {
        font-weight: 400;
        opacity: 0.85;
      }
      .summary {
        font-size: 1rem;
      }
      .block {
        padding: 0.75rem 1rem;
        border-radius: 0.75rem;
        background: rgb(var(--mdui-color-surface-container-lowest));
        max-height: 20rem;
        overflow: auto;
        scrollbar-width: thin;
      }
      details > summary {
        cursor: pointer;
        padding: 0.25rem 0;
        color: var(--quiet);
        font-weight: 500;
        border-radius: 0.5rem;
      }
      details[open] > summary {
        margin-bottom: 0.5rem;
      }
      .made {
        display: grid;
        grid-template-columns: repeat(auto-fill, minmax(8rem, 1fr));
        gap: 0.75rem;
      }
      .made a {
        min-width: 0;
        color: inherit;
        text-decoration: none;
        border-radius: 0.75rem;
      }
    `]}#e;#t;#n;constructor(){super(),this.session=void 0,this.plan=void 0,this.invocation=void 0,this.revision=0,this.#e={},this.#t=[],this.#n=[],new No(this,()=>this.#r,100)}get#r(){let e=this.invocation;return e!==void 0&&!ul(e.state)&&e.state!==`pending`&&this.plan?.turn.outcome===void 0}willUpdate(e){let{plan:t,invocation:n}=this;if(t!==void 0&&n!==void 0){if(e.has(`invocation`)){this.#e=Pl(t,n.toolId);let e=[...t.invocations.values()];this.#t=e.filter(e=>e.dependencies.includes(n.toolId)).map(e=>e.toolId)}(e.has(`revision`)||e.has(`invocation`))&&(this.#n=t.turn.assets.filter(e=>e.replaced===void 0&&e.planKey===t.key&&e.toolId===n.toolId))}}render(){let{plan:e,invocation:t}=this;if(e===void 0||t===void 0)return b;let n=Date.now(),r=dl(t,n);return v`<article class="panel" aria-labelledby="title">
      <header class=${t.state}>
        <span class="sign">${D(cl[t.state])}</span>
        <div class="title">
          <h1 id="title" tabindex="-1" dir="auto">${j(t.toolId,200)}</h1>
          <p class="tone number">
            ${ll[t.state]}${r===void 0||t.state===`skipped`?b:v` · ${Li(r)}`}${t.attempts.length>1?v` · ${M(t.attempts.length,`attempt`)}`:b}
          </p>
        </div>
        <a class="icon-button" href=${ki(e.key)} aria-label="Close the tool" title="Close">${D(`close`)}</a>
      </header>
      ${this.#i(t)} ${this.#a(t)} ${this.#o(t)} ${this.#s(e,t)}
      ${this.#c(t,n)} ${this.#l()}
      ${this.#u(`Input`,F(this.#e,`input`))} ${this.#u(`Result`,t.result)}
      ${t.stderr===void 0?b:v`<section>
              <h2>Standard error<narratoria-copy compact label="Copy the standard error" .text=${t.stderr}></narratoria-copy></h2>
              <div class="block code" tabindex="0" role="group" aria-label="Standard error">
                <narratoria-long-text verbatim .text=${t.stderr}></narratoria-long-text>
              </div>
            </section>`}
      <section>
        <h2>Log</h2>
        <narratoria-log .invocation=${t} .revision=${t.revision}></narratoria-log>
      </section>
    </article>`}#i(e){if(e.state!==`running`&&e.state!==`retrying`)return b;let t=e.state===`running`?e.progress:void 0;return v`<div class="progress-line">
      <div
        class="progress ${t===void 0?`unknown`:``}"
        role="progressbar"
        aria-label="Progress of ${j(e.toolId,100)}"
        aria-valuemin="0"
        aria-valuemax="100"
        aria-valuenow=${t===void 0?b:Math.round(t*100)}
      >
        <span style=${E(t===void 0?{}:{transform:`scaleX(${t})`})}></span>
      </div>
      ${t===void 0?b:v`<span class="number" aria-hidden="true">${Lt(t)}</span>`}
    </div>`}#a(e){return e.summary===void 0||e.summary===``?b:v`<narratoria-long-text class="summary" .text=${e.summary}></narratoria-long-text>`}#o(e){if(e.error===void 0&&e.errors.length===0)return b;let t=Ml(e.errors.slice(-50));return v`<section aria-label="Errors">
      ${e.error===void 0?b:jl(e.errorCode??`FAILED`,e.error,void 0,``)}
      ${t.map(({error:t,attempts:n})=>jl(t.code,t.message,t.details,e.attempts.length>1?Nl(n):``))}
      ${e.errors.length>Dl?v`<p>${M(e.errors.length-Dl,`earlier error`)}</p>`:b}
    </section>`}#s(e,t){let n=R(this.#e,`retryPolicy`),r=n===void 0?void 0:L(n,`maxRetries`),i=n===void 0?void 0:L(n,`backoffMs`),a=t=>{let n=t.slice(0,12);return v`${n.map((t,n)=>v`${n>0?`, `:``}${e.invocations.has(t)?v`<a href=${Mi(e.key,t)} dir="auto">${j(t,80)}</a>`:j(t,80)}`)}${t.length>n.length?` and ${t.length-n.length} more`:``}`},o=ln(this.#e,`required`)===!1?`no: the plan may succeed without it`:`yes`;return v`<dl class="facts">
      <dt>Tool</dt>
      <dd dir="auto"><code>${j(t.toolPath,400)}</code></dd>
      ${t.line===void 0?b:v`<dt>Line</dt><dd>${t.line}</dd>`}
      ${t.dependencies.length===0?b:v`<dt>Runs after</dt><dd>${a(t.dependencies)}</dd>`}
      ${this.#t.length===0?b:v`<dt>Before</dt><dd>${a(this.#t)}</dd>`}
      ${e.isOpen?b:v`<dt>Required</dt><dd>${o}</dd>`}
      ${r===void 0?b:v`<dt>Retries</dt><dd>${r===0?`none`:v`up to ${r}${i===void 0?``:`, the first after ${Li(i)}`}`}</dd>`}
    </dl>`}#c(e,t){return e.attempts.length===0||e.attempts.length===1&&e.state===`completed`?b:v`<section>
      <h2>Attempts</h2>
      <ol class="attempts">
        ${e.attempts.map(e=>Al(e,t))}
      </ol>
    </section>`}#l(){if(this.#n.length===0)return b;let e=this.#n.slice(0,El);return v`<section>
      <h2>Assets</h2>
      <ul class="made">
        ${e.map(e=>v`<li><a href="#/assets/${e.seq}" aria-label="Asset ${j(e.assetId,100)}"><narratoria-asset .asset=${e} size="thumbnail"></narratoria-asset></a></li>`)}
      </ul>
      ${this.#n.length>e.length?v`<p><a href="#/assets">All ${this.#n.length} assets</a></p>`:b}
    </section>`}#u(e,t){return t===void 0||P(t)&&Object.keys(t).length===0?b:v`<details>
      <summary>${e}</summary>
      <div class="block code" tabindex="0" role="group" aria-label=${e}>
        ${mt([t],()=>v`<narratoria-long-text verbatim .text=${pn(t,Ol).text}></narratoria-long-text>`)}
      </div>
    </details>`}};O([C({attribute:!1})],kl.prototype,`session`,void 0),O([C({attribute:!1})],kl.prototype,`plan`,void 0),O([C({attribute:!1})],kl.prototype,`invocation`,void 0),O([C({attribute:!1})],kl.prototype,`revision`,void 0),kl=O([S(`narratoria-invocation`)],kl);function Al(e,t){let n=[];return e.code!==void 0&&n.push(e.code),e.exitStatus!==void 0&&n.push(`exit status ${e.exitStatus}`),e.signal!==void 0&&n.push(`signal ${e.signal}`),v`<li class="attempt ${e.state}">
    ${D(cl[e.state])}
    <span>Attempt ${e.number}: ${ll[e.state]}${n.length>0?v` <span class="tone">${n.join(`, `)}</span>`:b}</span>
    <span class="number">${Li(fl(e,t))}</span>
    ${e.error===void 0?b:v`<narratoria-long-text class="why" .text=${e.error}></narratoria-long-text>`}
  </li>`}function jl(e,t,n,r){let i=()=>n===void 0?``:pn(n,Ol).text;return v`<div class="trouble">
    <header>
      ${D(`error`)}<strong><bdi>${j(e,120)}</bdi>${r===``?b:v` <span class="when">${r}</span>`}</strong>
      <narratoria-copy label="Copy the error" .text=${()=>`${e}: ${t}${n===void 0?``:`\n${i()}`}`}></narratoria-copy>
    </header>
    <narratoria-long-text verbatim .text=${t}></narratoria-long-text>
    ${mt([n],()=>n===void 0?b:v`<narratoria-long-text class="code" verbatim .text=${i()}></narratoria-long-text>`)}
  </div>`}function Ml(e){let t=[];for(let n of e.toReversed()){let e=t.find(({error:e})=>e.code===n.code&&e.message===n.message);e===void 0?t.push({error:n,attempts:[n.attempt]}):e.attempts.includes(n.attempt)||e.attempts.unshift(n.attempt)}return t}function Nl(e){return e.length===1?`attempt ${e[0]}`:`attempts ${e.join(`, `)}`}function Pl(e,t){let n=F(e.plan,`tools`);return(Array.isArray(n)?n:[]).filter(P).find(e=>I(e,`toolId`)===t)??{}}var Fl=.35,Il=3e3,Ll=8;function Rl(e){let t=new Map;for(let n of e)t.has(n.id)||t.set(n.id,zl(n.id,0));let n=Bl(e,t);Vl(t,n);let{layers:r,chains:i}=Hl(t,n);Ul(r),Kl(r);let a=1;for(let e of r)for(let t of e)a=Math.max(a,t.across+Jl(t)/2);return{nodes:[...t].map(([e,{layer:t,across:n}])=>({id:e,layer:t,across:n})),edges:i.map(e=>({from:e[0].id,to:e.at(-1).id,points:e.map(({layer:e,across:t})=>({layer:e,across:t}))})),layers:r.length,breadth:a}}function zl(e,t){return{id:e,layer:t,before:[],behind:[],order:0,across:0}}function Bl(e,t){let n=[];for(let r of e){let e=t.get(r.id);for(let i of new Set(r.dependencies)){let r=t.get(i);r!==void 0&&r!==e&&n.push([r,e])}}return n}function Vl(e,t){let n=new Map,r=new Map;for(let[e,i]of t){let t=n.get(e);t===void 0?n.set(e,[i]):t.push(i),r.set(i,(r.get(i)??0)+1)}let i=[...e.values()].filter(e=>!r.has(e));for(let e=0;e<i.length;++e){let t=i[e];for(let e of n.get(t)??[]){e.layer=Math.max(e.layer,t.layer+1);let n=r.get(e)-1;r.set(e,n),n===0&&i.push(e)}}}function Hl(e,t){let n=[],r=e=>{for(;n.length<=e.layer;)n.push([]);n[e.layer].push(e)};for(let t of e.values())r(t);let i=0;for(let[e,n]of t)i+=Math.max(0,n.layer-e.layer-1);return{layers:n,chains:t.map(([e,t])=>{let n=[e];if(i<=Il)for(let i=e.layer+1;i<t.layer;++i){let e=zl(void 0,i);r(e),n.push(e)}n.push(t);for(let e=1;e<n.length;++e)n[e-1].behind.push(n[e]),n[e].before.push(n[e-1]);return n})}}function Ul(e){let t=e=>{for(let[t,n]of e.entries())n.order=t};e.forEach(t);let n=e.map(e=>[...e]),r=Gl(e),i=e.reduce((e,t)=>e+t.length,0)>1500?2:Ll;for(let a=0;a<i&&r>0;++a){let i=a%2==0;for(let n of i?e.slice(1):e.slice(0,-1).reverse()){let e=new Map(n.map(e=>[e,Wl(i?e.before:e.behind,e.order)]));n.sort((t,n)=>e.get(t)-e.get(n)||t.order-n.order),t(n)}let o=Gl(e);o<r&&(r=o,n=e.map(e=>[...e]))}for(let[r,i]of n.entries())e[r]=i,t(i)}function Wl(e,t){if(e.length===0)return t;let n=0;for(let t of e)n+=t.order;return n/e.length}function Gl(e){let t=0;for(let[n,r]of e.entries()){let i=e[n+1];if(i===void 0)break;let a=new Uint32Array(i.length+1),o=0;for(let e of r){let n=e.behind.map(e=>e.order);for(let e of n){let n=0;for(let t=e+1;t>0;t-=t&-t)n+=a[t];t+=o-n}for(let e of n){for(let t=e+1;t<=i.length;t+=t&-t)a[t]=a[t]+1;++o}}}return t}function Kl(e){for(let t of e){let e=0;for(let n of t)n.across=e+Jl(n)/2,e+=Jl(n)}let t=Math.max(0,...e.map(e=>e.reduce((e,t)=>e+Jl(t),0)));for(let n of e){let e=(t-n.reduce((e,t)=>e+Jl(t),0))/2;for(let t of n)t.across+=e}for(let t=0;t<6;++t){let n=t%2==0;for(let t of n?e:[...e].reverse())ql(t,t.map(e=>{let t=n?e.before:e.behind,r=t.length>0?t:n?e.behind:e.before;return r.length>0?r.reduce((e,t)=>e+t.across,0)/r.length:e.across}))}let n=1/0;for(let t of e)for(let e of t)n=Math.min(n,e.across-Jl(e)/2);if(n!==1/0)for(let t of e)for(let e of t)e.across-=n}function ql(e,t){let n=[],r=0;for(let t of e)n.push(r+Jl(t)/2),r+=Jl(t);let i=[];for(let[e,r]of t.entries())for(i.push({from:e,count:1,sum:r-n[e]});i.length>1;){let e=i.at(-1),t=i.at(-2);if(t.sum/t.count<=e.sum/e.count)break;t.count+=e.count,t.sum+=e.sum,i.pop()}for(let t of i)for(let r=t.from;r<t.from+t.count;++r)e[r].across=t.sum/t.count+n[r]}function Jl(e){return e.id===void 0?Fl:1}var Yl=120,Xl=240,Zl=300,Ql=[.3,.45,.65,.85,1,1.25],$l=class extends x{static{this.styles=[A,h`
      :host {
        position: relative;
      }
      .port {
        overflow: auto;
        max-height: min(34rem, 60vh);
        border-radius: inherit;
        scrollbar-width: thin;
      }
      .canvas {
        position: relative;
        margin: 0 auto;
      }
      svg.edges {
        position: absolute;
        inset: 0;
        overflow: visible;
        pointer-events: none;
      }
      .edge {
        fill: none;
        stroke: rgb(var(--mdui-color-outline));
        stroke-width: 1.5;
      }
      .edge.waits {
        stroke-dasharray: 5 5;
        stroke: rgb(var(--mdui-color-outline-variant));
      }
      .edge.flows {
        stroke: var(--accent);
        stroke-width: 2;
        stroke-dasharray: 6 6;
        animation: flow 0.8s linear infinite;
      }
      .edge.broken {
        stroke: var(--bad);
        stroke-dasharray: 2 5;
      }
      @keyframes flow {
        to {
          stroke-dashoffset: -12;
        }
      }
      .head {
        fill: rgb(var(--mdui-color-outline));
      }
      .head.flows {
        fill: var(--accent);
      }
      .head.broken {
        fill: var(--bad);
      }
      .tool {
        position: absolute;
        left: 0;
        top: 0;
        display: flex;
        align-items: center;
        gap: 0.625rem;
        padding: 0 0.75rem;
        border-radius: 0.875rem;
        border: 1px solid var(--line);
        background: rgb(var(--mdui-color-surface-container-high));
        color: inherit;
        text-decoration: none;
        overflow: hidden;
        isolation: isolate;
        transition:
          border-color 200ms,
          background-color 200ms;
      }
      .tool:hover {
        border-color: var(--tone);
      }
      .tool[aria-current] {
        border-color: var(--accent);
        box-shadow: 0 0 0 1px var(--accent);
      }
      .tool.pending,
      .tool.stopped,
      .tool.skipped {
        background: rgb(var(--mdui-color-surface-container));
        border-style: dashed;
      }
      .tool.failed,
      .tool.timeout {
        border-color: var(--bad);
      }
      .fill {
        position: absolute;
        inset: 0;
        z-index: -1;
        transform-origin: left;
        background: var(--tone-container);
        opacity: 0.55;
        transition: transform 160ms linear;
      }
      .sign {
        color: var(--tone);
        font-size: 1.05rem;
      }
      .words {
        display: grid;
        min-width: 0;
        line-height: 1.3;
      }
      .name {
        font-weight: 600;
      }
      .status {
        font-size: 0.75rem;
        color: var(--quiet);
      }
      .small .status {
        display: none;
      }
      .small .tool {
        padding: 0 0.5rem;
        gap: 0.375rem;
        font-size: 0.75rem;
      }
      /* No animation in large graphs: hundreds of moving lines would only distract. */
      .many .edge,
      .many .spinner {
        animation: none;
      }
      .many .edge.waits {
        stroke-dasharray: none;
      }
      .unseen {
        inset: 0 auto auto 0;
      }
      .tiny .tool {
        padding: 0;
        justify-content: center;
        border-radius: 0.5rem;
      }
      .tiny .words {
        display: none;
      }
      .zoom {
        position: absolute;
        inset-inline-end: 0.5rem;
        bottom: 0.5rem;
        display: flex;
        border-radius: 1.25rem;
        background: rgb(var(--mdui-color-surface-container-highest));
        box-shadow: 0 1px 3px rgb(0 0 0 / 0.3);
      }
      .zoom .icon-button {
        width: 2.25rem;
        height: 2.25rem;
      }
      @media (forced-colors: active) {
        .edge,
        .head {
          stroke: CanvasText;
        }
        .tool[aria-current] {
          outline: 3px solid Highlight;
        }
        .fill {
          background: Highlight;
          forced-color-adjust: none;
          opacity: 0.4;
        }
      }
    `]}#e;#t;#n;#r;#i;#a;#o;#s;constructor(){super(),this.plan=void 0,this.revision=0,this.selected=void 0,this.upright=!1,this.scale=1,this.active=void 0,this.view={left:0,top:0,width:1200,height:700},this.#e={nodes:[],edges:[],layers:0,breadth:1},this.#t=new Map,this.#n=``,this.#r=[],this.#i=``,this.#a=!1,this.#o=1,this.#s=new ResizeObserver(()=>{this.#b(),this.#y();let{selected:e}=this;e!==void 0&&this.updateComplete.then(()=>this.#E(e))}),new No(this,()=>this.#S(),200)}connectedCallback(){super.connectedCallback(),this.updateComplete.then(()=>this.isConnected&&this.#v!==null&&this.#s.observe(this.#v))}disconnectedCallback(){super.disconnectedCallback(),this.#s.disconnect()}willUpdate(e){let t=this.plan;if(t===void 0)return;this.#o=N(1)/16;let n=`${t.key} ${t.invocations.size}`;n!==this.#n&&(this.#n=n,this.#e=Rl([...t.invocations.values()].map(({toolId:e,dependencies:t})=>({id:e,dependencies:t}))),this.#t=new Map(this.#e.nodes.map(e=>[e.id,e])),this.#b()),e.has(`plan`)&&e.get(`plan`)!==void 0&&(this.#a=!1),(e.has(`plan`)||this.active===void 0||!this.#t.has(this.active))&&(this.active=this.selected??t.invocations.keys().next().value)}render(){let e=this.plan;if(e===void 0)return b;let{width:t,height:n}=this.#g(),r=Date.now(),i=this.#_(),a=this.#f(),o=e.invocations.size;return v`<div
        class="port ${o>Yl?`many`:``} ${this.scale<.4?`tiny`:this.scale<.8?`small`:``}"
        role="group"
        aria-label="Graph of ${M(o,`tool`)}; use the arrow keys to follow dependencies"
        @scroll=${this.#y}
        @keydown=${this.#C}
      >
        <div class="canvas" style=${E({width:`${t}px`,height:`${n}px`})}>
          <svg class="edges" width=${t} height=${n} aria-hidden="true">
            <defs>
              ${[``,`flows`,`broken`].map(e=>Be`<marker id="head${e}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8"
                  markerUnits="userSpaceOnUse" orient="auto"><path class="head ${e}" d="M0 0.5 L8 4 L0 7.5 z"></path></marker>`)}
            </defs>
            ${this.#l(e)}
          </svg>
          ${T(i,e=>e.id,t=>this.#c(e,e.invocations.get(t.id),this.#h(t),a,r))}
        </div>
      </div>
      ${o>6||this.scale!==1?v`<div class="zoom">
              <button class="icon-button" type="button" aria-label="Smaller" title="Smaller" ?disabled=${this.scale===Ql[0]} @click=${()=>this.#x(-1)}>${D(`remove`)}</button>
              <button class="icon-button" type="button" aria-label="Larger" title="Larger" ?disabled=${this.scale===Ql.at(-1)} @click=${()=>this.#x(1)}>${D(`add`)}</button>
            </div>`:b}`}updated(e){e.has(`selected`)&&this.selected!==void 0&&this.#E(this.selected)}#c(e,t,n,r,i){let a=gl(t),o={transform:`translate(${n.x}px, ${n.y}px)`,width:`${r.x}px`,height:`${r.y}px`};return v`<a
      class="tool ${t.state}"
      href=${Mi(e.key,t.toolId)}
      data-id=${t.toolId}
      tabindex=${t.toolId===this.active?0:-1}
      aria-current=${t.toolId===this.selected?`true`:b}
      title=${t.toolId.slice(0,200)}
      style=${E(o)}
      @focus=${()=>this.active=t.toolId}
    >
      <span class="fill" style=${E({transform:`scaleX(${a})`})}></span>
      <span class="sign">${D(cl[t.state])}</span>
      <span class="words">
        <span class="name clipped" dir="auto">${t.toolId.slice(0,200)}</span>
        <span class="status clipped number">${pl(t,i,!0)}</span>
        <span class="unseen">${ml(t)}</span>
      </span>
    </a>`}#l(e){let{left:t,top:n,width:r,height:i}=this.view,a=this.#e.edges.length<=240,o=[];for(let s of this.#u()){let{from:c,to:l}=s.edge,u=c===this.active||l===this.active;if(!a&&!u&&(o.length>=Zl||s.left>t+r+Xl||s.right<t-Xl||s.top>n+i+Xl||s.bottom<n-Xl))continue;let d=tu(e,s.edge),f=d===`flows`||d===`broken`?d:``;o.push(Be`<path class="edge ${d}" d=${s.d} marker-end="url(#head${f})"></path>`)}return o}#u(){let e=`${this.#n} ${this.scale} ${this.upright} ${this.#o}`;if(e===this.#i)return this.#r;if(this.#i=e,this.#r=this.#e.edges.map(e=>{let t=e.points.map(e=>this.#m(e)),n=t.map(e=>e.x),r=t.map(e=>e.y),[i,a,o,s]=[Math.min(...n),Math.max(...n),Math.min(...r),Math.max(...r)];return{edge:e,d:this.#d(t),left:i,right:a,top:o,bottom:s}}),this.#r.length>Zl){let e=e=>e.right-e.left+e.bottom-e.top;this.#r.sort((t,n)=>e(t)-e(n))}return this.#r}#d(e){let t=this.#f(),n=this.upright?`y`:`x`,r=this.upright?`x`:`y`,i=(e,t)=>this.upright?`${t} ${e}`:`${e} ${t}`,a=t[n]/2,o=e[0],s=`M${i(o[n]+a,o[r])}`;for(let t=1;t<e.length;++t){let o=e[t-1],c=e[t],l=o[n]+a,u=c[n]-a,d=(u-l)/2;s+=` C${i(l+d,o[r])} ${i(u-d,c[r])} ${i(u,c[r])}`,t<e.length-1&&(s+=` L${i(c[n]+a,c[r])}`)}return s}#f(){let e=this.scale<.4,t=this.#o;return{x:t*(e?36:Math.max(96,212*this.scale)),y:t*(e?28:Math.max(34,60*this.scale))}}#p(){let e=this.#f(),t=this.#o,n=t*Math.max(14,20*this.scale);return this.upright?{along:e.y+t*Math.max(24,44*this.scale),across:e.x+n}:{along:e.x+t*Math.max(32,64*this.scale),across:e.y+n}}#m({layer:e,across:t}){let n=this.#f(),r=this.#p(),i=eu+e*r.along,a=eu/2+t*r.across;return this.upright?{x:a,y:i+n.y/2}:{x:i+n.x/2,y:a}}#h(e){let t=this.#m(e),n=this.#f();return{x:t.x-n.x/2,y:t.y-n.y/2}}#g(){let e=this.#f(),t=this.#p(),n=eu*2+(this.#e.layers-1)*t.along+(this.upright?e.y:e.x),r=eu+this.#e.breadth*t.across;return this.upright?{width:r,height:n}:{width:n,height:r}}#_(){let{nodes:e}=this.#e;if(e.length<=Yl)return e;let{left:t,top:n,width:r,height:i}=this.view;return e.filter(e=>{if(e.id===this.active)return!0;let{x:a,y:o}=this.#m(e);return a>t-Xl&&a<t+r+Xl&&o>n-Xl&&o<n+i+Xl})}get#v(){return this.renderRoot.querySelector(`.port`)}#y(){let e=this.#v;if(this.#e.nodes.length<=Yl||e===null)return;let{scrollLeft:t,scrollTop:n,clientWidth:r,clientHeight:i}=e,{left:a,top:o,width:s,height:c}=this.view;Math.max(Math.abs(a-t),Math.abs(o-n))<Xl/4&&s===r&&c===i||(this.view={left:t,top:n,width:r,height:i})}#b(){if(this.#a)return;let e=this.clientWidth;if(e===0)return;let t=this.#e.nodes.length>Yl;for(let n of t?[.45]:[1,.85])for(let t of[!1,!0])if(this.scale=n,this.upright=t,this.#g().width<=e)return;this.upright=e<560&&this.#e.breadth<=this.#e.layers*3,this.scale=t?.45:e<560?.85:1}#x(e){this.#a=!0;let t=Ql.indexOf(this.scale)+e;this.scale=Ql[Math.max(0,Math.min(Ql.length-1,t))]}#S(){for(let e of this.plan?.invocations.values()??[])if(e.state===`running`||e.state===`retrying`)return this.plan?.turn.outcome===void 0;return!1}#C(e){let t=this.active;if(t===void 0||e.altKey||e.ctrlKey||e.metaKey)return;let n=this.#w(e.key,t);n!==void 0&&(e.preventDefault(),this.focusOn(n))}#w(e,t){let[n,r,i,a]=this.upright?[`ArrowDown`,`ArrowUp`,`ArrowRight`,`ArrowLeft`]:[`ArrowRight`,`ArrowLeft`,`ArrowDown`,`ArrowUp`],o=this.#t.get(t);if(o!==void 0)switch(e){case n:return this.#T(o,this.#e.edges.filter(e=>e.from===t).map(e=>e.to));case r:return this.#T(o,this.plan?.invocations.get(t)?.dependencies??[]);case i:case a:{let t=e===i?1:-1,n=this.#e.nodes.filter(e=>e.layer===o.layer&&(e.across-o.across)*t>.01);return this.#T(o,n.map(e=>e.id))}case`Home`:return this.#e.nodes[0]?.id;case`End`:return this.#e.nodes.at(-1)?.id;default:return}}#T(e,t){let n=t=>Math.abs(t.across-e.across)+Math.abs(t.layer-e.layer)*.5;return t.flatMap(e=>this.#t.get(e)??[]).filter(t=>t!==e).sort((e,t)=>n(e)-n(t))[0]?.id}async focusOn(e){this.active=e,this.#E(e),await this.updateComplete;for(let t of this.renderRoot.querySelectorAll(`.tool`))t.dataset.id===e&&t.focus({preventScroll:!0})}#E(e){let t=this.#t.get(e),n=this.#v;if(t===void 0||n===null)return;let{x:r,y:i}=this.#h(t),a=this.#f();r<n.scrollLeft?n.scrollLeft=r-24:r+a.x>n.scrollLeft+n.clientWidth&&(n.scrollLeft=r+a.x+24-n.clientWidth),i<n.scrollTop?n.scrollTop=i-24:i+a.y>n.scrollTop+n.clientHeight&&(n.scrollTop=i+a.y+24-n.clientHeight),this.#y()}};O([C({attribute:!1})],$l.prototype,`plan`,void 0),O([C({attribute:!1})],$l.prototype,`revision`,void 0),O([C({attribute:!1})],$l.prototype,`selected`,void 0),O([w()],$l.prototype,`upright`,void 0),O([w()],$l.prototype,`scale`,void 0),O([w()],$l.prototype,`active`,void 0),O([w()],$l.prototype,`view`,void 0),$l=O([S(`narratoria-plan-graph`)],$l);var eu=20;function tu(e,t){let n=e.invocations.get(t.from),r=e.invocations.get(t.to);return n===void 0||r===void 0?`waits`:n.state===`failed`||n.state===`timeout`||n.state===`skipped`||n.state===`stopped`?`broken`:ul(n.state)?r.state===`running`||r.state===`retrying`?`flows`:``:`waits`}var nu=100,ru=class extends x{static{this.styles=[A,h`
      .port {
        overflow-x: auto;
        border-radius: inherit;
      }
      table {
        width: 100%;
        border-collapse: collapse;
        text-align: start;
      }
      th,
      td {
        text-align: start;
        vertical-align: top;
        padding: 0.625rem 1rem;
        border-bottom: 1px solid rgba(var(--mdui-color-outline-variant), 0.4);
      }
      thead th {
        font-size: 0.75rem;
        font-weight: 500;
        color: var(--quiet);
      }
      tr:last-child > * {
        border-bottom: 0;
      }
      .state {
        display: flex;
        gap: 0.5rem;
        align-items: center;
        color: var(--tone);
        white-space: nowrap;
      }
      .name {
        font-weight: 500;
        overflow-wrap: anywhere;
        min-width: 8rem;
      }
      .text {
        color: var(--quiet);
        overflow-wrap: anywhere;
        min-width: 10rem;
      }
      .more {
        padding: 0.5rem 1rem;
      }
    `]}constructor(){super(),this.plan=void 0,this.revision=0,this.selected=void 0,this.shown=nu,new No(this,()=>this.plan!==void 0&&_l(this.plan)===`running`,250)}willUpdate(e){e.has(`plan`)&&(this.shown=nu)}render(){let e=this.plan;if(e===void 0)return b;let t=Date.now(),n=[...e.invocations.values()].slice(0,this.shown),r=e.invocations.size-n.length;return v`<div class="port" tabindex="0" role="group" aria-label="Tools of this plan">
        <table>
          <thead>
            <tr>
              ${[`Tool`,`Status`,`Time`,`Attempts`,`Runs after`,`Outcome`].map(e=>v`<th scope="col">${e}</th>`)}
            </tr>
          </thead>
          <tbody>
            ${T(n,e=>e.toolId,n=>this.#e(e,n,t))}
          </tbody>
        </table>
      </div>
      ${r>0?v`<p class="more">
              <button class="button plain" type="button" @click=${()=>this.shown+=nu}>Show ${M(Math.min(nu,r),`more tool`)}</button>
              ${r.toLocaleString(`en`)} left
            </p>`:b}`}#e(e,t,n){let r=dl(t,n),i=t.summary??t.error??``;return v`<tr>
      <th scope="row" class="name">
        <a href=${Mi(e.key,t.toolId)} dir="auto" aria-current=${t.toolId===this.selected?`true`:b}>${j(t.toolId,120)}</a>
      </th>
      <td>
        <span class="state ${t.state}">${D(cl[t.state])}${ll[t.state]}${t.state===`running`&&t.progress!==void 0?v` <span class="number">${Lt(t.progress)}</span>`:b}</span>
      </td>
      <td class="number">${r===void 0||t.state===`skipped`?`–`:Li(r)}</td>
      <td class="number">${t.attempts.length===0?`–`:t.attempts.length}</td>
      <td class="text" dir="auto">${t.dependencies.length===0?`–`:hl(t.dependencies)}</td>
      <td class="text" dir="auto">${i===``?`–`:j(i,160)}</td>
    </tr>`}};O([C({attribute:!1})],ru.prototype,`plan`,void 0),O([C({attribute:!1})],ru.prototype,`revision`,void 0),O([C({attribute:!1})],ru.prototype,`selected`,void 0),O([w()],ru.prototype,`shown`,void 0),ru=O([S(`narratoria-plan-table`)],ru);var iu=20,au=class extends x{static{this.styles=[A,h`
      :host {
        container-type: inline-size;
        --name: 11rem;
      }
      .axis,
      .row {
        display: grid;
        grid-template-columns: var(--name) minmax(0, 1fr);
        gap: 0.75rem;
        padding: 0 1rem;
      }
      .axis {
        height: 1.75rem;
        align-items: end;
        font-size: 0.75rem;
        color: var(--quiet);
      }
      .ticks,
      .track {
        position: relative;
        height: 100%;
      }
      .tick {
        position: absolute;
        bottom: 0.25rem;
        transform: translateX(-50%);
        white-space: nowrap;
      }
      .tick:first-child {
        transform: none;
      }
      .tick.last {
        transform: translateX(-100%);
      }
      .lines {
        position: absolute;
        inset: 0 1rem 0 calc(var(--name) + 1.75rem);
        pointer-events: none;
      }
      .lines span {
        position: absolute;
        top: 0;
        bottom: 0;
        width: 1px;
        background: rgba(var(--mdui-color-outline-variant), 0.6);
      }
      .body {
        position: relative;
      }
      .port {
        overflow: auto;
        max-height: min(22rem, 45vh);
        padding-bottom: 0.5rem;
        scrollbar-width: thin;
        position: relative;
      }
      .row {
        position: relative;
        height: var(--row);
        align-items: center;
        color: inherit;
        text-decoration: none;
        border-radius: 0.5rem;
      }
      .row:focus-visible {
        outline-offset: -2px;
      }
      .row:hover,
      .row[aria-current] {
        background: rgba(var(--mdui-color-on-surface), 0.06);
      }
      .label {
        display: flex;
        align-items: center;
        gap: 0.5rem;
        min-width: 0;
        font-weight: 500;
        font-size: 0.8125rem;
      }
      .label .icon {
        color: var(--tone);
      }
      .bar {
        position: absolute;
        top: 50%;
        height: 0.875rem;
        margin-top: -0.4375rem;
        min-width: 3px;
        border-radius: 0.25rem;
        background: var(--tone);
        overflow: hidden;
      }
      .bar.failed,
      .bar.timeout {
        background: repeating-linear-gradient(-45deg, var(--tone) 0 5px, color-mix(in srgb, var(--tone) 65%, transparent) 5px 8px);
      }
      .bar.running {
        background: color-mix(in srgb, var(--tone) 38%, transparent);
        box-shadow: inset 0 0 0 1.5px var(--tone);
      }
      .bar .done {
        position: absolute;
        inset: 0;
        transform-origin: left;
        background: var(--tone);
      }
      .wait {
        position: absolute;
        top: 50%;
        height: 0.375rem;
        margin-top: -0.1875rem;
        border-block: 1.5px dotted var(--caution);
      }
      .queue {
        position: absolute;
        top: 50%;
        height: 1px;
        background: rgba(var(--mdui-color-outline), 0.55);
      }
      .time {
        position: absolute;
        top: 50%;
        transform: translateY(-50%);
        padding: 0 0.375rem;
        font-size: 0.75rem;
        color: var(--quiet);
        white-space: nowrap;
        pointer-events: none;
      }
      @container (max-width: 480px) {
        .axis,
        .row {
          grid-template-columns: minmax(0, 1fr);
          gap: 0;
        }
        .lines {
          inset-inline-start: 1rem;
        }
        .row {
          grid-template-rows: 1fr 1.25rem;
          padding-block: 0.25rem;
        }
      }
      @media (forced-colors: active) {
        .bar {
          background: CanvasText;
          forced-color-adjust: none;
        }
      }
    `]}#e;#t;#n;constructor(){super(),this.plan=void 0,this.revision=0,this.selected=void 0,this.width=600,this.active=0,this.#e=new tn(this),this.#t=[],this.#n=new ResizeObserver(([e])=>this.width=e?.contentRect.width??this.width),new No(this,()=>this.plan!==void 0&&_l(this.plan)===`running`,()=>Math.min(250,(Date.now()-(this.plan?.started??0))/Math.max(1,this.width)))}connectedCallback(){super.connectedCallback(),this.#n.observe(this)}disconnectedCallback(){super.disconnectedCallback(),this.#n.disconnect()}willUpdate(e){let t=this.plan;t!==void 0&&((this.#t.length!==t.invocations.size||e.has(`plan`))&&(this.#t=[...t.invocations.values()]),e.has(`plan`)&&(this.active=0),this.#e.count=this.#t.length,this.#e.rowHeight=N(this.width<=480?3.25:2))}render(){let e=this.plan;if(e===void 0)return b;let t=Date.now(),n=Math.max(iu,Tl(e,t)-e.started),r=this.width<=480?this.width-32:this.width-N(14.75),i=Pi(n,r,84),a=e=>(1-e/n)*r<N(1.5),o=e=>({left:`${e/n*100}%`});return v`<div class="axis number" aria-hidden="true">
        ${this.width<=480?b:v`<span></span>`}
        <span class="ticks">${i.map(e=>v`<span class="tick ${a(e.at)?`last`:``}" style=${E(o(e.at))}>${e.label}</span>`)}</span>
      </div>
      <div class="body">
        <div class="lines" aria-hidden="true">${i.map(e=>v`<span style=${E(o(e.at))}></span>`)}</div>
        <div
          class="port"
          role="group"
          aria-label="Timeline of ${M(this.#t.length,`tool`)}, ${Li(n)} in all"
          ${this.#e.attach}
          @scroll=${this.#e.onScroll}
          @keydown=${this.#a}
          style=${E({"--row":`${this.#e.rowHeight}px`})}
        >
          ${this.#e.draw(r=>this.#r(e,this.#t[r],r,n,t))}
        </div>
      </div>`}#r(e,t,n,r,i){let a=t.started??(t.state===`pending`?Math.min(i,Tl(e,i)):t.pendingSince),o=t.ended??(t.state===`pending`?a:Tl(e,i)),s=zi(e.started,o,e.started,r).to;return v`<a
      class="row ${t.state}"
      data-index=${n}
      href=${Mi(e.key,t.toolId)}
      tabindex=${n===this.active?0:-1}
      aria-current=${t.toolId===this.selected?`true`:b}
      @focus=${()=>this.active=n}
    >
      <span class="label">${D(cl[t.state])}<span class="clipped" dir="auto" title=${t.toolId.slice(0,200)}>${t.toolId.slice(0,200)}</span></span>
      <span class="unseen">${ll[t.state]}${t.attempts.length>1?`: ${lu(t.attempts,i)}`:``}</span>
      <span class="track">
        <span class="queue" style=${E(ou(e.started,a,e.started,r))}></span>
        ${t.attempts.map((n,a)=>this.#i(t,n,t.attempts[a+1],e,r,i))}
        ${t.state===`pending`||t.state===`skipped`?v`<span class="time" style=${E(s<.7?{left:`${s*100}%`}:{right:`0`,...su})}>${ll[t.state]}</span>`:v`<span class="time number" style=${E(cu(zi(a,o,e.started,r)))}
                >${Li(t.executionTime??Math.max(0,o-a))}</span
              >`}
      </span>
    </a>`}#i(e,t,n,r,i,a){let o=e.ended??Tl(r,a),s=t.ended??o,c=t.state===`running`&&e.progress!==void 0?e.progress:0,l=n?.started??(e.state===`retrying`?o:void 0);return v`<span
        class="bar ${t.state}"
        title="Attempt ${t.number}: ${ll[t.state]}, ${Li(fl(t,a))}"
        style=${E(ou(t.started,s,r.started,i))}
        >${c>0?v`<span class="done" style=${E({transform:`scaleX(${c})`})}></span>`:b}</span
      >${l===void 0?b:v`<span class="wait" title="Waiting for the next attempt" style=${E(ou(s,l,r.started,i))}></span>`}`}#a(e){let t=Rc(e,this.active,this.#t.length-1,10);t!==void 0&&(e.preventDefault(),this.active=t,this.#e.reveal(this.active),this.updateComplete.then(()=>{this.renderRoot.querySelector(`.row[data-index="${this.active}"]`)?.focus({preventScroll:!0})}))}};O([C({attribute:!1})],au.prototype,`plan`,void 0),O([C({attribute:!1})],au.prototype,`revision`,void 0),O([C({attribute:!1})],au.prototype,`selected`,void 0),O([w()],au.prototype,`width`,void 0),O([w()],au.prototype,`active`,void 0),au=O([S(`narratoria-plan-timeline`)],au);function ou(e,t,n,r){let i=zi(e,t,n,r);return{left:`${i.from*100}%`,width:`${(i.to-i.from)*100}%`}}var su={background:`rgb(var(--mdui-color-surface-container-low))`};function cu({from:e,to:t}){return t<.8?{left:`${t*100}%`}:e>.2?{right:`${(1-e)*100}%`,...su}:{display:`none`}}function lu(e,t){return e.slice(0,12).map(e=>`attempt ${e.number} ${ll[e.state]} after ${Li(fl(e,t))}`).join(`, `)}var uu=class extends jt{constructor(...e){super(...e),this.prompts=void 0,this.ended=!1,this.mode=`drawing`,this.#e=new tn(this),this.#i=()=>{let e=this.renderRoot.querySelector(`.plans`);e?.classList.toggle(`cut`,e.scrollLeft+e.clientWidth<e.scrollWidth-1)}}static{this.styles=[A,h`
      :host {
        height: 100%;
        overflow: hidden;
        container-type: inline-size;
      }
      .view {
        display: grid;
        grid-template-columns: 17rem minmax(0, 1fr);
        height: 100%;
      }
      .view.with-tool {
        grid-template-columns: 17rem minmax(0, 1fr) minmax(22rem, 30rem);
      }
      .turns {
        display: grid;
        grid-template-rows: auto minmax(0, 1fr);
        border-inline-end: 1px solid rgba(var(--mdui-color-outline-variant), 0.5);
        min-height: 0;
      }
      .turns h2 {
        padding: 1.25rem 1.25rem 0.5rem;
        font-size: 0.875rem;
        color: var(--quiet);
      }
      .list {
        overflow: auto;
        padding: 0 0.5rem 1rem;
        scrollbar-width: thin;
      }
      .turn {
        display: grid;
        grid-template-columns: auto minmax(0, 1fr);
        align-content: center;
        gap: 0 0.75rem;
        height: var(--row);
        padding: 0 0.75rem;
        border-radius: 1rem;
        color: inherit;
        text-decoration: none;
      }
      .turn:hover {
        background: rgba(var(--mdui-color-on-surface), 0.06);
      }
      .turn[aria-current] {
        background: rgb(var(--mdui-color-secondary-container));
        color: rgb(var(--mdui-color-on-secondary-container));
      }
      .turn .icon {
        grid-row: span 2;
        align-self: center;
        color: var(--tone);
      }
      .turn[aria-current] .icon,
      .turn[aria-current] .about {
        color: inherit;
      }
      .turn .says {
        font-weight: 500;
      }
      .about {
        font-size: 0.75rem;
        color: var(--quiet);
      }
      .stage {
        overflow: auto;
        padding: 1.25rem clamp(0.75rem, 2.5cqw, 2rem) 3rem;
        scrollbar-width: thin;
        min-width: 0;
      }
      .stage > header {
        display: grid;
        grid-template-columns: minmax(0, 1fr) auto;
        gap: 0.75rem 1rem;
        align-items: start;
        margin-bottom: 1.25rem;
      }
      h1 {
        font-size: clamp(1.125rem, 2.4cqw, 1.5rem);
        line-height: 1.35;
        overflow-wrap: anywhere;
        display: -webkit-box;
        -webkit-box-orient: vertical;
        -webkit-line-clamp: 3;
        overflow: hidden;
      }
      .pager {
        display: flex;
        align-items: center;
        gap: 0.25rem;
      }
      .segments button {
        padding: 0 1rem;
        font-weight: 500;
      }
      .plans {
        display: grid;
        grid-template-columns: minmax(0, 1fr);
        gap: 1.25rem;
      }
      .plan {
        display: grid;
        grid-template-columns: minmax(0, 1fr);
        align-content: start;
        gap: 0.75rem;
        min-width: 0;
      }
      .plan > header {
        display: flex;
        flex-wrap: wrap;
        align-items: center;
        align-content: flex-start;
        gap: 0.5rem 0.75rem;
        min-height: 2rem;
      }
      .plan h2 {
        font-size: 1rem;
      }
      .card.drawing {
        overflow: hidden;
        padding: 0;
      }
      .narrative {
        color: var(--quiet);
        overflow-wrap: anywhere;
      }
      .side {
        overflow: auto;
        padding: 1.25rem;
        border-inline-start: 1px solid rgba(var(--mdui-color-outline-variant), 0.5);
        background: rgb(var(--mdui-color-surface-container-low));
        scrollbar-width: thin;
      }
      .warnings {
        display: grid;
        gap: 0.25rem;
        margin-top: 1.25rem;
        padding: 0.75rem 1rem;
        border-radius: 1rem;
        background: var(--caution-container);
        overflow-wrap: anywhere;
      }
      .warnings li {
        display: flex;
        gap: 0.5rem;
      }
      .none {
        padding: 1.5rem;
        color: var(--quiet);
      }
      .stop {
        color: rgb(var(--mdui-color-on-error-container));
        background: rgb(var(--mdui-color-error-container));
      }
      .back {
        display: none;
        margin-bottom: 0.5rem;
      }
      @container (min-width: 900px) {
        .plans.several {
          grid-template-columns: repeat(var(--plans), minmax(19rem, 1fr));
          overflow-x: auto;
          padding-bottom: 0.75rem;
          gap: 0.75rem 1.25rem;
          scrollbar-width: auto;
        }
        /* Fade out at the edge to show that there is more. */
        .several.cut {
          mask-image: linear-gradient(to right, #000 calc(100% - 4rem), rgb(0 0 0 / 0.15));
        }
        /* Align the parts of plans that are side by side. */
        .several > .plan {
          grid-row: span 4;
          grid-template-rows: subgrid;
        }
      }
      @container (max-width: 1599.98px) {
        .view.with-tool {
          grid-template-columns: minmax(0, 1fr) minmax(22rem, 30rem);
        }
        .view.with-tool .turns {
          display: none;
        }
      }
      @container (max-width: 1199.98px) {
        .view,
        .view.with-tool {
          grid-template-columns: minmax(0, 1fr);
        }
        .turns {
          display: none;
        }
        .view.with-tool {
          grid-template-columns: minmax(0, 1fr) minmax(20rem, 24rem);
        }
      }
      @container (max-width: 839.98px) {
        .view.with-tool {
          grid-template-columns: minmax(0, 1fr);
        }
        .view.with-tool .stage {
          display: none;
        }
        .side {
          border: 0;
          padding: 1rem clamp(0.75rem, 4cqw, 1.25rem) 3rem;
          background: none;
        }
        .back {
          display: inline-flex;
        }
        .stage > header {
          grid-template-columns: minmax(0, 1fr);
        }
      }
    `]}#e;#t;#n;#r;willUpdate(e){super.willUpdate(e);let t=this.session,[n]=this.path;this.#n=n===void 0?void 0:t?.plans.get(n),this.#t=this.#n?.turn??mu(t?.turns??[]),e.has(`path`)&&this.#n!==void 0&&(this.#r=this.#t),this.#e.count=t?.turns.length??0,this.#e.rowHeight=N(3.75)}render(){let e=this.#t;if(e===void 0||this.session===void 0)return At(`tools`,`No tools yet`,`The tools that the story runs will appear here.`);let t=this.path[1],n=t===void 0?void 0:this.#n?.invocations.get(t);return v`<div class="view ${n===void 0?``:`with-tool`}">
      ${this.#a(e)}
      <div class="stage" tabindex="-1">${this.#l(e,n===void 0?void 0:t)}</div>
      ${n===void 0?b:v`<div class="side" role="complementary" aria-label="Selected tool" @keydown=${this.#m}>
              <a class="button plain back" href=${ki(this.#n.key)}>${D(`back`)}The plan</a>
              <narratoria-invocation
                .session=${this.session}
                .plan=${this.#n}
                .invocation=${n}
                .revision=${Math.max(n.revision,this.#n.turn.outcome===void 0?0:this.#n.turn.revision)}
              ></narratoria-invocation>
            </div>`}
    </div>`}resized(){super.resized(),this.#i()}#i;updated(e){if(this.#i(),!e.has(`path`))return;let t=e.get(`path`)?.[1],n=this.path[1];if(n!==void 0&&n!==t&&t===void 0){let e=this.renderRoot.querySelector(`narratoria-invocation`);e?.updateComplete.then(()=>e.renderRoot.querySelector(`#title`)?.focus())}this.#t!==void 0&&this.path.length>0&&this.#e.reveal(this.#e.count-1-this.#t.index)}#a(e){let t=this.session.turns,n=this.#o(e);return v`<nav class="turns" aria-label="Turns">
      <h2>${M(t.length,`turn`)}</h2>
      <div class="list" ${this.#e.attach} @scroll=${this.#e.onScroll} @keydown=${this.#c} @focusin=${this.#s} style=${E({"--row":`${this.#e.rowHeight}px`})}>
        ${this.#e.draw(r=>{let i=t[t.length-1-r];return i===void 0?b:fu(i,i===e,r,r===n)})}
      </div>
    </nav>`}#o(e){let t=this.session.turns,n=t.length-1-(this.#r?.index??e.index),{first:r,last:i}=this.#e.rows,a=Math.max(r,Math.min(i-1,n));for(let e=0;e<i-r;++e)for(let n of[a+e,a-e])if(n>=r&&n<i&&(t[t.length-1-n]?.plans.length??0)>0)return n;return-1}#s(e){let t=du(e),n=this.session.turns;t!==void 0&&(this.#r=n[n.length-1-t],this.requestUpdate())}#c(e){let t=du(e);if(t===void 0||e.altKey||e.ctrlKey||e.metaKey)return;let n=this.session.turns,r=n.length,i={ArrowDown:[r-1-t,-1],ArrowUp:[r-1-t,1],Home:[r,-1],End:[-1,1]}[e.key];if(i===void 0)return;e.preventDefault();let a=hu(n,...i);if(a===void 0)return;this.#r=a;let o=r-1-a.index;this.#e.reveal(o),this.requestUpdate(),this.updateComplete.then(()=>this.renderRoot.querySelector(`a.turn[data-index="${o}"]`)?.focus({preventScroll:!0}))}#l(e,t){let n=e.plans;return v`<header>
        <div>
          <h1 dir="auto">${pu(e)}</h1>
        </div>
        <div class="chips">
          <span class="segments" role="group" aria-label="How plans are shown">
            <button type="button" aria-pressed=${this.mode===`drawing`?`true`:`false`} @click=${()=>this.mode=`drawing`}>Graph</button>
            <button type="button" aria-pressed=${this.mode===`table`?`true`:`false`} @click=${()=>this.mode=`table`}>Table</button>
          </span>
          ${this.#p(e)} ${this.#u()}
        </div>
      </header>
      ${n.length===0?v`<p class="card none">
              ${e.outcome===void 0?`The narrator is making a plan.`:e.isPast===!0?`This turn was played before the game continued. Its tools are not shown here.`:e.movedTo===void 0?`The narrator replied without a plan.`:`No tool ran here.`}
            </p>`:v`<div class="plans ${n.length>1?`several`:``}" tabindex=${n.length>1?0:b} role="group" aria-label=${M(n.length,`plan`)} @scroll=${this.#i} style=${E({"--plans":String(n.length)})}>
              ${n.map((e,r)=>this.#f(e,r,n,t))}
            </div>`}
      ${e.warnings.length===0?b:v`<ul class="warnings" aria-label="Warnings">
              ${e.warnings.slice(-20).map(e=>v`<li class="warn">${D(`warning`)}<span>${e.toolId===void 0?b:v`<bdi>${j(e.toolId,80)}</bdi>: `}<bdi>${j(e.message,400)}</bdi></span></li>`)}
            </ul>`}`}#u(){return this.session?.busy!==!0||this.prompts===void 0||this.ended?b:v`<button class="button stop" type="button" title="Stop (Escape)" ?disabled=${this.prompts.isCancelling} @click=${this.#d}>
      ${D(`stop`)}Stop
    </button>`}#d(){let e=this.prompts?.cancel();this.requestUpdate(),e?.then(()=>this.requestUpdate()),this.renderRoot.querySelector(`.stage`)?.focus({preventScroll:!0})}#f(e,t,n,r){let i=_l(e),a=e===this.#n?r:void 0,o=un(e.plan,`disabledSkills`),s=I(e.plan,`narrative`)??``,c=[...e.invocations.values()].filter(e=>ul(e.state)).length,l=n.length>1?`Plan ${t+1} of ${n.length}`:`The plan`;return v`<section class="plan" aria-label="${l}, ${bl(i)}">
      <header>
        <h2>${l}</h2>
        <span class="chip tone ${i}">${D(yl[i])}${bl(i)}</span>
        <span class="number about">
          ${c<e.invocations.size?`${c} of ${M(e.invocations.size,`tool`)}`:M(e.invocations.size,`tool`)}${e.executionTime===void 0?b:v` · ${Li(e.executionTime)}`}
        </span>
        ${e.continues===void 0?b:v`<span class="chip">${D(`right`)}continues plan ${n.indexOf(e.continues)+1}</span>`}
        ${o.slice(0,8).map(e=>v`<span class="chip" title="Disabled in this plan">${D(`block`)}<span>without <span dir="auto">${j(e,60)}</span></span></span>`)}
        ${o.length>8?v`<span class="chip">and ${o.length-8} more</span>`:b}
      </header>
      <p class="narrative" dir="auto" ?hidden=${s===``&&n.length===1}>${j(s,300)}</p>
      ${e.invocations.size===0?v`<p class="card none">${s===``?`This plan runs no tools.`:`This plan has only a narrative and runs no tools.`}</p>`:this.mode===`table`?v`<div class="card drawing"><narratoria-plan-table .plan=${e} .revision=${e.revision} .selected=${a}></narratoria-plan-table></div>`:v`<div class="card drawing">
                  <narratoria-plan-graph .plan=${e} .revision=${e.revision} .selected=${a}></narratoria-plan-graph>
                </div>
                <div class="card drawing">
                  <narratoria-plan-timeline .plan=${e} .revision=${Math.max(e.revision,e.turn.outcome===void 0?0:e.turn.revision)} .selected=${a}></narratoria-plan-timeline>
                </div>`}
    </section>`}#p(e){let t=this.session.turns,n=hu(t,e.index,-1),r=hu(t,e.index,1),i=e=>()=>{let t=e?.plans.at(-1);t!==void 0&&on(ki(t.key))};return v`<span class="pager">
      <button class="icon-button" type="button" aria-label="Previous turn" title="Previous turn" ?disabled=${n===void 0} @click=${i(n)}>${D(`left`)}</button>
      <span class="number about">${e.index+1} of ${t.length}</span>
      <button class="icon-button" type="button" aria-label="Next turn" title="Next turn" ?disabled=${r===void 0} @click=${i(r)}>${D(`right`)}</button>
      ${this.path.length>0&&r!==void 0?v`<a class="button plain" href="#/tools">Newest</a>`:b}
    </span>`}#m(e){if(e.key!==`Escape`||e.defaultPrevented||this.#n===void 0)return;let t=this.path[1],n=this.#n;e.preventDefault(),on(ki(n.key)),requestAnimationFrame(()=>{for(let e of this.renderRoot.querySelectorAll(`narratoria-plan-graph`))e.plan===n&&t!==void 0&&e.focusOn(t)})}};O([C({attribute:!1})],uu.prototype,`prompts`,void 0),O([C({type:Boolean})],uu.prototype,`ended`,void 0),O([w()],uu.prototype,`mode`,void 0),uu=O([S(`narratoria-tools`)],uu);function du(e){let t=e.target instanceof Element?e.target.closest(`a.turn`):null,n=Number(t?.dataset.index);return Number.isInteger(n)?n:void 0}function fu(e,t,n,r){let i=xl(e),a=e.plans.at(-1);if(e.movedTo!==void 0)return v`<div class="turn"><span class="says clipped" dir="auto">${pu(e)}</span></div>`;let o=[e.isUndone===!0?`undone`:wl(e)];e.plans.length>1&&o.push(M(e.plans.length,`plan`));let s=fo(e).length;o.push(e.isPast===!0?`played before`:s===0?`no tools`:M(s,`tool`));let c=v`${D(yl[i])}<span class="says clipped" dir="auto">${pu(e)}</span><span class="about clipped">${o.join(` · `)}</span>`;return a===void 0?v`<div class="turn ${i}">${c}</div>`:v`<a class="turn ${i}" href=${ki(a.key)} data-index=${n} tabindex=${r?0:-1} aria-current=${t?`page`:b}>${c}</a>`}function pu(e){let t=xo(e);return t===void 0?e.prompt===void 0?`A plan of the host`:j(e.prompt.text,300):t}function mu(e){let t=e.at(-1);return t===void 0||t.plans.length>0||t.outcome===void 0?t:hu(e,e.length-1,-1)??t}function hu(e,t,n){for(let r=t+n;r>=0&&r<e.length;r+=n)if(e[r].plans.length>0)return e[r]}