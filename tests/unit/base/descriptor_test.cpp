// SPDX-License-Identifier: Apache-2.0
#include "base/descriptor.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cerrno>
#include <utility>

namespace narratoria {
namespace {

bool is_open(int descriptor) { return ::fcntl(descriptor, F_GETFD) >= 0; }

bool closes_on_exec(const Descriptor& descriptor) {
    return (::fcntl(descriptor.get(), F_GETFD) & FD_CLOEXEC) != 0;
}

Descriptor null_device() { return Descriptor(::open("/dev/null", O_RDWR | O_CLOEXEC)); }

// Closes standard input until it is destroyed. The tests of one program run one at a time.
class WithoutStandardInput {
public:
    WithoutStandardInput() : saved_(::fcntl(0, F_DUPFD_CLOEXEC, 3)) { ::close(0); }
    ~WithoutStandardInput() {
        if (saved_) ::dup2(saved_.get(), 0);
    }

private:
    Descriptor saved_;
};

TEST(Descriptor, ClosesItsDescriptorOnce) {
    int number = -1;
    {
        Descriptor first = null_device();
        ASSERT_TRUE(first);
        number = first.get();
        Descriptor second = std::move(first);
        EXPECT_FALSE(first);  // NOLINT(bugprone-use-after-move): a moved-from one is empty
        EXPECT_EQ(second.get(), number);
        EXPECT_TRUE(is_open(number));
    }
    EXPECT_FALSE(is_open(number));
}

TEST(Descriptor, MoveAssignmentSwapsDescriptors) {
    Descriptor kept = null_device();
    const int old = kept.get();
    {
        Descriptor source = null_device();
        kept = std::move(source);
        EXPECT_TRUE(is_open(old));
    }
    EXPECT_FALSE(is_open(old));
    EXPECT_TRUE(is_open(kept.get()));
    kept.close();
    EXPECT_FALSE(kept);
    kept.close();
}

TEST(Pipe, CarriesBytesAndIsClosedOnExec) {
    Pipe pipe;
    ASSERT_EQ(make_pipe(pipe), 0);
    EXPECT_TRUE(closes_on_exec(pipe.read));
    EXPECT_TRUE(closes_on_exec(pipe.write));
    ASSERT_EQ(::write(pipe.write.get(), "x", 1), 1);
    char byte = 0;
    EXPECT_EQ(::read(pipe.read.get(), &byte, 1), 1);
    EXPECT_EQ(byte, 'x');
}

TEST(Pipe, NeverUsesAStandardStreamNumber) {
    const WithoutStandardInput closed;
    Pipe pipe;
    ASSERT_EQ(make_pipe(pipe), 0);
    EXPECT_GT(pipe.read.get(), 2);
    EXPECT_GT(pipe.write.get(), 2);
    EXPECT_TRUE(closes_on_exec(pipe.read));
    EXPECT_FALSE(is_open(0)) << "the low number was closed after the move";
}

TEST(StandardStreamsGuard, OccupiesClosedStreamsUntilDestroyed) {
    const WithoutStandardInput closed;
    const auto next_number = [] { return Descriptor(::fcntl(1, F_DUPFD_CLOEXEC, 3)).get(); };
    const int next = next_number();
    {
        const StandardStreamsGuard taken;
        EXPECT_TRUE(is_open(0));
        EXPECT_EQ(null_device().get(), next) << "and no other number";
    }
    EXPECT_FALSE(is_open(0));
    EXPECT_TRUE(is_open(1));
}

TEST(UnlinkedFile, CanBeWrittenAndHasNoName) {
    const Descriptor file = unlinked_file();
    ASSERT_TRUE(file) << errno;
    EXPECT_TRUE(closes_on_exec(file));
    ASSERT_EQ(::write(file.get(), "text", 4), 4);
    struct stat status {};
    ASSERT_EQ(::fstat(file.get(), &status), 0);
    EXPECT_EQ(status.st_size, 4);
    EXPECT_EQ(status.st_nlink, 0u);
}

}  // namespace
}  // namespace narratoria
