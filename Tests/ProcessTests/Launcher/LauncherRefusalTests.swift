import Foundation
import HostCore
import TestPrograms
import Testing

/// When `apsule-launch` does not start the program, and what keeps the program from others.
@Suite(.serialized)
struct LauncherRefusalTests {
    private static let createRuleset = "444"
    private let probe = ["--", Programs.probe, "read", "/etc/passwd"]

    @Test func refusesWithoutLandlock() throws {
        let result = try Workshop.run(
            Programs.without, [Self.createRuleset, Workshop.launcher] + systemRules + probe)
        #expect(result.status == .exited(125))
        #expect(result.text.isEmpty)
        #expect(
            result.errors.contains(
                "this kernel has no Landlock; --best-effort starts without: Function not implemented"))
    }

    @Test func startsWithoutLandlockWhenAskedTo() throws {
        let (mine, theirs) = try OwnedFile.socketPair()
        let reading = Reading(mine)
        let options = systemRules + ["--best-effort", "--report", "4"]
        let result = try Workshop.run(
            Programs.without, [Self.createRuleset, Workshop.launcher] + options + probe, descriptors: [4: theirs])
        close(theirs.release())
        #expect(result["read /etc/passwd"] == "ok")
        #expect(reading.finish().hasPrefix("{\"landlock\":0,"))
    }

    @Test func refusesWhatItDoesNotUnderstand() throws {
        for (arguments, complaint) in [
            (["--no-such"], "--no-such needs a value"), (["--no-such", "x"] + probe, "--no-such is no option"),
            (["--ro"], "--ro needs a value"), (["stray"] + probe, "'stray': an option or -- is expected"),
            (["--ro", "/usr"], "no program is named"), (["--"], "no program is named"),
            (["--rlimit", "nofile=x"] + probe, "'x' is not a number"),
            (["--rlimit", "nofile=-1"] + probe, "'-1' is not"),
            (["--rlimit", "pigs=1"] + probe, "names no limit"),
            (["--tcp", "65536"] + probe, "'65536' is not a number"),
            (["--env", "=x"] + probe, "is not NAME=VALUE"), (["--rw", "/no/such"] + probe, "/no/such"),
            (["--chdir", "/no/such"] + probe, "--chdir /no/such: No such file"),
            (["--parent", "1"] + probe, "parent has ended"),
            (systemRules + ["--", "/no/such"], "/no/such: No such file"),
        ] {
            let result = try Workshop.run(Workshop.launcher, arguments)
            #expect(result.status == .exited(125), "\(arguments)")
            #expect(result.text.isEmpty)
            #expect(result.errors.contains(complaint), "\(arguments): \(result.errors)")
        }
    }

    /// With set-user-id its command line would come from somebody else.
    @Test(.enabled(if: isRoot)) func refusesBorrowedPrivileges() throws {
        let copy = Workshop.folder.appending(path: "launch-setuid").path
        try? FileManager.default.removeItem(atPath: copy)
        try FileManager.default.copyItem(atPath: Workshop.launcher, toPath: copy)
        chmod(copy, 0o4755)
        let result = try Programs.runUnprivileged(copy, systemRules + probe)
        #expect(result.status == .exited(125))
        #expect(result.errors.contains("refuses to run with privileges that its caller does not have"))
    }

    @Test func dropsTheNetworkItIsNotGiven() throws {
        let (open, openPort) = try listen()
        let (other, otherPort) = try listen()
        defer { for socket in [open, other] { close(socket) } }
        let attempts = ["connect", "\(openPort)", "connect", "\(otherPort)"]
        let result = try Workshop.run(
            Workshop.launcher, systemRules + ["--no-tcp", "--tcp", "\(openPort)", "--", Programs.probe] + attempts)
        #expect(result["connect \(openPort)"] == "ok")
        #expect(result["connect \(otherPort)"] == "EACCES")
    }

    @Test func signalsNobodyOutside() throws {
        let result = try Workshop.run(
            Workshop.launcher, systemRules + ["--scoped", "--", Programs.probe, "signal", "0", "signal", "1"])
        #expect(result["signal 0"] == "EPERM")
        #expect(result["signal 1"] == "EPERM")
    }

    @Test func filtersCalls() throws {
        let attempts = ["ptrace", "-", "uring", "-", "packet", "-", "connect", "1"]
        let result = try Workshop.run(
            Workshop.launcher, systemRules + ["--filter", "--", Programs.probe] + attempts)
        #expect(result["ptrace -"] == "EPERM")
        #expect(result["uring -"] == "EPERM")
        #expect(result["packet -"] == "EAFNOSUPPORT")
        #expect(result["connect 1"] == "ECONNREFUSED")
    }

    /// The middle process starts a child that waits for ever, tells its number, and is killed.
    @Test func endsWithItsParent() throws {
        let (mine, theirs) = try OwnedFile.socketPair()
        let launch = ([Workshop.launcher] + systemRules + ["--", Programs.probe, "wait", "8"]).joined(separator: " ")
        let script = "\(launch) & echo $!; sleep 0.3; kill -9 $$"
        // Descriptor 8 would end the child, too; the launcher closes it, so it holds on to standard input instead.
        let line = script.replacingOccurrences(of: "wait 8", with: "wait 0 <&8")
        let result = try Workshop.run("/bin/sh", ["-c", line], descriptors: [8: theirs])
        #expect(result.status == .signalled(SIGKILL))
        let child = try #require(Int32(result.text.split(separator: "\n").first ?? ""))
        var waited = 0
        while kill(child, 0) == 0, waited < 5_000 {
            usleep(10_000)
            waited += 10
        }
        #expect(kill(child, 0) != 0)
        withExtendedLifetime(mine) {}
    }

    private func listen() throws -> (Int32, UInt16) {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                _ = bind(descriptor, $0, length)
                _ = Glibc.listen(descriptor, 4)
                _ = getsockname(descriptor, $0, &length)
            }
        }
        return (descriptor, UInt16(bigEndian: address.sin_port))
    }
}
