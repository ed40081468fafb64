// SPDX-License-Identifier: Apache-2.0
// Generates the colours as CSS at build time. mdui would generate them in the browser and write them to a <style>
// element, which the page's Content-Security-Policy forbids.
import { Blend, DynamicScheme, Hct, MaterialDynamicColors, TonalPalette, argbFromHex } from "@material/material-color-utilities";

const seed = argbFromHex("#673AB7");
const ember = argbFromHex("#FF9E40");
// Variant.TONAL_SPOT; the library does not export the enum.
const tonalSpot = 2;

// The tonal spot scheme of the seed, with more purple in the surfaces, and a torchlight colour as tertiary.
function scheme(isDark: boolean, contrastLevel: number): DynamicScheme {
  const source = Hct.fromInt(seed);
  const warm = Hct.fromInt(Blend.harmonize(ember, seed));
  return new DynamicScheme({
    sourceColorArgb: seed,
    variant: tonalSpot,
    contrastLevel,
    isDark,
    primaryPalette: TonalPalette.fromHueAndChroma(source.hue, 48),
    secondaryPalette: TonalPalette.fromHueAndChroma(source.hue, 20),
    tertiaryPalette: TonalPalette.fromHueAndChroma(warm.hue, 40),
    neutralPalette: TonalPalette.fromHueAndChroma(source.hue, 10),
    neutralVariantPalette: TonalPalette.fromHueAndChroma(source.hue, 12),
  });
}

const roles = MaterialDynamicColors;
const colours = {
  primary: roles.primary,
  "primary-container": roles.primaryContainer,
  "on-primary": roles.onPrimary,
  "on-primary-container": roles.onPrimaryContainer,
  "inverse-primary": roles.inversePrimary,
  secondary: roles.secondary,
  "secondary-container": roles.secondaryContainer,
  "on-secondary": roles.onSecondary,
  "on-secondary-container": roles.onSecondaryContainer,
  tertiary: roles.tertiary,
  "tertiary-container": roles.tertiaryContainer,
  "on-tertiary": roles.onTertiary,
  "on-tertiary-container": roles.onTertiaryContainer,
  surface: roles.surface,
  "surface-dim": roles.surfaceDim,
  "surface-bright": roles.surfaceBright,
  "surface-container-lowest": roles.surfaceContainerLowest,
  "surface-container-low": roles.surfaceContainerLow,
  "surface-container": roles.surfaceContainer,
  "surface-container-high": roles.surfaceContainerHigh,
  "surface-container-highest": roles.surfaceContainerHighest,
  "surface-variant": roles.surfaceVariant,
  "on-surface": roles.onSurface,
  "on-surface-variant": roles.onSurfaceVariant,
  "inverse-surface": roles.inverseSurface,
  "inverse-on-surface": roles.inverseOnSurface,
  background: roles.background,
  "on-background": roles.onBackground,
  error: roles.error,
  "error-container": roles.errorContainer,
  "on-error": roles.onError,
  "on-error-container": roles.onErrorContainer,
  outline: roles.outline,
  "outline-variant": roles.outlineVariant,
  shadow: roles.shadow,
  "surface-tint-color": roles.surfaceTint,
  scrim: roles.scrim,
};

// The colours of both schemes, with stronger ones for systems that request more contrast.
export function schemeCss(): string {
  return `:root {\n${lines(0).join("\n")}\n}\n@media (prefers-contrast: more) {\n:root {\n${lines(1).join("\n")}\n}\n}\n`;
}

function lines(contrastLevel: number): string[] {
  return [false, true].flatMap((isDark) => {
    const made = scheme(isDark, contrastLevel);
    return Object.entries(colours).map(([name, role]) => {
      const argb = role.getArgb(made);
      const parts = [16, 8, 0].map((shift) => (argb >> shift) & 255).join(", ");
      return `  --mdui-color-${name}-${isDark ? "dark" : "light"}: ${parts};`;
    });
  });
}
