import ApsuleKit
import Foundation
import HostCore
import TestPrograms
import Testing

struct ChildProcessTests {
    @Test func tellsHowAChildEnded() async throws {
        let exited = try ChildProcess.start(ChildCommand(Programs.probe, ["exit", "42"]))
        #expect(await exited.exit() == .exited(42))
        let died = try ChildProcess.start(ChildCommand(Programs.probe, ["die", "11"]))
        #expect(await died.exit() == .signalled(SIGSEGV))
        // Whoever asks late hears it, too.
        #expect(died.status == .signalled(SIGSEGV))
        #expect(await died.exit() == .signalled(SIGSEGV))
        #expect("\(ProcessEnd.signalled(SIGSEGV))" == "signal 11 (Segmentation fault)")
    }

    @Test func killsByItsOwnHandleOnly() async throws {
        let (_, input) = try OwnedFile.socketPair()
        let child = try ChildProcess.start(ChildCommand("/bin/sleep", ["1000"], descriptors: [0: input]))
        #expect(child.wait(milliseconds: 20) == nil)
        #expect(child.signal(0))
        child.kill()
        #expect(await child.exit() == .signalled(SIGKILL))
        // The number may belong to somebody else by now; the handle does not.
        #expect(!child.signal(SIGTERM))
    }

    @Test func saysWhyAProgramDoesNotStart() {
        let error = #expect(throws: HostError.self) { try ChildProcess.start(ChildCommand("/no/such/program")) }
        #expect(error?.code == "host.system_error")
        #expect(error?.message == "/no/such/program cannot be started: No such file or directory.")
    }

    @Test func placesDescriptorsThatWouldOverwriteEachOther() throws {
        let (first, firstEnd) = try OwnedFile.socketPair()
        let (second, secondEnd) = try OwnedFile.socketPair()
        // Each one's number in the child is the other's number here.
        let files = [firstEnd.raw: secondEnd, secondEnd.raw: firstEnd]
        let reading = [Reading(first), Reading(second)]
        let result = try Workshop.run(
            Programs.probe, ["say", "\(firstEnd.raw)", "say", "\(secondEnd.raw)", "descriptors", "-"],
            descriptors: files)
        let (firstNumber, secondNumber) = (firstEnd.raw, secondEnd.raw)
        close(firstEnd.release())
        close(secondEnd.release())
        #expect(reading[0].finish() == "\(secondNumber)")
        #expect(reading[1].finish() == "\(firstNumber)")
        let numbers = result.details.compactMap { Int32($0.split(separator: " ")[0]) }.sorted()
        #expect(numbers == [0, 1, 2, firstNumber, secondNumber].sorted())
    }

    @Test func startsWithFreshSignalsAndSession() throws {
        signal(SIGPIPE, SIG_IGN)
        let result = try Workshop.run(Programs.probe, ["session", "-", "status", "SigIgn", "status", "SigBlk"])
        #expect(result.details.first == "1")
        for set in ["SigIgn", "SigBlk"] {
            let line = try #require(result.details.first { $0.hasPrefix(set) })
            // The C library keeps 32 and 33 for itself.
            let bits = try #require(UInt64(line.split(whereSeparator: \.isWhitespace)[1], radix: 16))
            #expect(bits & 0x7fff_ffff == 0, "\(line)")
        }
    }

    /// A child that dies with its parent must not die with the thread that asked for it.
    @Test func outlivesTheThreadThatStartedIt() async throws {
        let (mine, theirs) = try OwnedFile.socketPair()
        let child = try await withCheckedThrowingContinuation {
            (answer: CheckedContinuation<ChildProcess, any Error>) in
            HostCore.Thread.start(name: "short") {
                let arguments = systemRules + ["--", Programs.probe, "wait", "0"]
                answer.resume(
                    with: Result {
                        try ChildProcess.start(ChildCommand(Workshop.launcher, arguments, descriptors: [0: theirs]))
                    })
            }
        }
        #expect(child.wait(milliseconds: 300) == nil)
        close(mine.release())
        close(theirs.release())
        #expect(await child.exit() == .exited(0))
    }

    @Test func startsManyAtOnce() async throws {
        try await withThrowingTaskGroup(of: ProcessEnd.self) { group in
            for index in 0..<40 {
                group.addTask {
                    try await ChildProcess.start(ChildCommand(Programs.probe, ["exit", "\(index)"])).exit()
                }
            }
            var codes: Set<ProcessEnd> = []
            for try await status in group { codes.insert(status) }
            #expect(codes == Set((0..<40).map { .exited($0) }))
        }
    }
}

struct ChildEnvironmentTests {
    private let hostile = [
        "LANG": "de_DE.UTF-8", "LC_TIME": "C", "LC_EVIL": "x", "TZ": "UTC", "HOME": "/root", "PATH": "/evil",
        "LD_PRELOAD": "/evil.so", "LD_LIBRARY_PATH": "/evil", "JSC_useJIT": "0", "OPENSSL_CONF": "/evil",
        "SSLKEYLOGFILE": "/evil", "GIO_MODULE_DIR": "/evil", "GIO_EXTRA_MODULES": "/evil",
        "SWIFT_BACKTRACE": "enable=yes",
        "GLIBC_TUNABLES": "x", "MALLOC_PERTURB_": "1", "G_MESSAGES_DEBUG": "all", "http_proxy": "http://p",
        "HTTP_PROXY": "h",
        "NO_PROXY": "*", "DBUS_SESSION_BUS_ADDRESS": "unix:path=/b", "APSULE_TOKEN": "secret", "DISPLAY": ":0",
    ]

    @Test func letsThroughWhatIsOnTheList() {
        #expect(
            ChildEnvironment(from: hostile).entries == [
                "DBUS_SESSION_BUS_ADDRESS=unix:path=/b", "DISPLAY=:0", "HOME=/root", "LANG=de_DE.UTF-8", "LC_TIME=C",
                "PATH=/usr/local/bin:/usr/bin:/bin", "SWIFT_BACKTRACE=enable=no", "TZ=UTC",
            ])
    }

    @Test func addsProxiesWhereAsked() {
        let entries = ChildEnvironment(from: hostile, proxies: true).entries
        #expect(entries.contains("http_proxy=http://p") && entries.contains("NO_PROXY=*"))
        #expect(!entries.contains { $0.hasPrefix("HTTP_PROXY") })
    }

    @Test func reachesTheChild() throws {
        var environment = ChildEnvironment(from: hostile)
        environment["APSULE_MINE"] = "1"
        let result = try Workshop.run(
            Programs.probe,
            [
                "environment", "LD_PRELOAD", "environment", "APSULE_TOKEN", "environment", "APSULE_MINE", "environment",
                "TZ",
            ],
            environment: environment)
        #expect(result.details == ["-", "-", "1", "UTC"])
    }
}
