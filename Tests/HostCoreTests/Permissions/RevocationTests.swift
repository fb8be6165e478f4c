import ApsuleKit
import Glibc
import Synchronization
import Testing

@testable import HostCore

@Suite struct RevocationTests {
    /// A host whose gate is the real one, with a stream that needs bluetooth running.
    private func running(
        _ bench: PermissionBench, _ authority: PermissionAuthority
    ) async throws -> (FakeHost, Recorder) {
        let host = try FakeHost(authority: authority)
        host.provider.on("guardedTick") { $0.sink.reply(nil) }
        let stream = host.start("guardedTick")
        _ = try await stream.answer()
        #expect(stream.error == nil)
        return (host, stream)
    }

    private func endsWithin(_ milliseconds: Int64, _ stream: Recorder, _ body: @escaping @Sendable () throws -> Void)
        async throws
    {
        let took = try await onThread {
            let begin = Clock.now
            try body()
            while stream.end == nil, Clock.now - begin < 10_000 { usleep(1_000) }
            return Clock.now - begin
        }
        #expect(stream.end == "permission.revoked")
        #expect(took < milliseconds)
    }

    @Test func endsWhatRuns() async throws {
        let bench = try PermissionBench()
        let authority = try bench.authority(allowed: ["bluetooth"])
        let (host, stream) = try await running(bench, authority)
        try await endsWithin(1_000, stream) { try authority.revoke("bluetooth") }
        let again = host.start("guarded")
        _ = try await again.answer()
        #expect(again.error?.details["rule"] == "person")
        #expect(bench.audit("revoked").count == 1)
    }

    @Test(arguments: ["always", "run", "once", "flag"])
    func byAnotherProcess(_ approval: String) async throws {
        let bench = try PermissionBench()
        if let answer = PromptAnswer(rawValue: approval) { bench.prompter.answer(answer) }
        let authority = try bench.authority(allowed: approval == "flag" ? ["bluetooth"] : [])
        let (host, stream) = try await running(bench, authority)
        // Another connection stands for another process, which the command line's own test is.
        let other = try GrantStore(state: bench.state)
        try await endsWithin(1_000, stream) { try other.remove(id: "com.example.app", permission: "bluetooth") }
        #expect(authority.status("bluetooth") == "denied")
        _ = host
    }

    @Test func ofOtherProjectsOrPermissionsEndsNothing() async throws {
        let bench = try PermissionBench()
        let authority = try bench.authority(allowed: ["bluetooth"])
        let (host, stream) = try await running(bench, authority)
        let other = try GrantStore(state: bench.state)
        try other.remove(id: "com.example.other")
        try other.remove(id: "com.example.app", origin: "folder:/elsewhere#1@1")
        try other.remove(id: "com.example.app", permission: "storage")
        try await Task.sleep(for: .milliseconds(700))
        #expect(stream.end == nil)
        try other.remove(id: "com.example.app")
        try await eventually(1) { stream.end == "permission.revoked" }
        _ = host
    }

    @Test func revocationsBeforeTheStartCountForNothing() async throws {
        let bench = try PermissionBench()
        let other = try GrantStore(state: bench.state)
        try other.remove(id: "com.example.app")
        let authority = try bench.authority(allowed: ["bluetooth"])
        let (host, stream) = try await running(bench, authority)
        authority.refresh()
        try other.save(
            Grant(
                identity: .commandLine, permission: "storage", isAllowed: true, declaration: Declaration(),
                created: Clock.wall))
        try await Task.sleep(for: .milliseconds(700))
        #expect(stream.end == nil)
        _ = host
    }

    @Test func anExpiredGrantEndsWhatRunsAndIsAskedAboutAgain() async throws {
        let bench = try PermissionBench()
        let authority = try bench.authority()
        try authority.grant("bluetooth", Declaration(), expires: Clock.wall + 300)
        let (host, stream) = try await running(bench, authority)
        try await eventually(2) { stream.end == "permission.revoked" }
        #expect(authority.status("bluetooth") == "prompt")
        bench.prompter.answer(.run)
        let again = host.start("guarded")
        _ = try await again.answer()
        #expect(again.error == nil)
        #expect(bench.audit("expired").count == 1)
    }

    @Test func aNeverOfAnotherProcessEndsAnAlways() async throws {
        let bench = try PermissionBench()
        bench.prompter.answer(.always)
        let authority = try bench.authority()
        let (host, stream) = try await running(bench, authority)
        let other = try GrantStore(state: bench.state)
        try other.save(
            Grant(
                identity: authority.subject.identity, permission: "bluetooth", isAllowed: false,
                declaration: Declaration(), created: Clock.wall))
        try await eventually(1) { stream.end == "permission.revoked" }
        _ = host
    }

    /// An answer that was on its way when the permission was revoked is neither used nor remembered.
    @Test func anAnswerFromBeforeARevocationIsWorthNothing() async throws {
        let host = try FakeHost()
        let verdicts = FakeVerdicts()
        host.authority.onDecide { verdicts.keep($1) }
        let stale = host.start("guardedQuick")
        let other = host.start("guarded")
        #expect(verdicts.count == 2)
        host.authority.revoke("storage")
        #expect(stale.error?.code == "permission.revoked")
        verdicts.answer(.allowed(once: false, expires: nil))
        _ = try await other.answer()
        #expect(other.error == nil)
        let quick = try #require(host.dispatcher.catalog.operation("fake.guardedQuick"))
        #expect(host.dispatcher.answerInline(quick, .emptyObject) == nil)
        #expect(!host.dispatcher.gate.isAllowed(Question(quick, [:])))
        #expect(host.provider.live.allSatisfy { $0.operation != "guardedQuick" })
    }

    @Test func oneApprovedCallKeepsItsScope() async throws {
        let bench = try PermissionBench()
        let authority = try bench.authority(["bluetooth": ["services": ["180d"]]])
        let host = try FakeHost(authority: authority)
        let answers = Kept<Bool>()
        host.provider.on("guarded") { call in
            for value in ["180d", "0x180D", "180f", "*"] { answers.append(call.sink.allows("services", value)) }
            answers.append(call.sink.allows("hosts", "180d"))
            call.sink.reply(nil)
        }
        bench.prompter.answer(.once)
        let first = host.start("guarded")
        _ = try await first.answer()
        #expect(answers.takeAll() == [true, true, false, false, false])
        // It was for one call: the next is asked about.
        let second = host.start("guarded")
        _ = try await second.answer()
        #expect(second.error?.details["rule"] == "no_prompt")
        #expect(answers.count == 0)
    }

    @Test func pathsNeedADeclarationAndThePermission() async throws {
        let bench = try PermissionBench()
        let authority = try bench.authority(["storage": true, "network": true], allowed: ["storage", "network"])
        let host = try FakeHost(authority: authority)
        let results = Kept<Int32>()
        host.provider.on("path") { call in
            for (path, flags) in [("a", O_RDONLY), ("a", O_WRONLY | O_CREAT), ("a", O_RDWR), ("a", O_RDONLY | O_TRUNC)]
            {
                results.append(call.sink.openPath(path, flags: flags, mode: 0o600))
            }
            call.sink.reply(nil)
        }
        host.provider.on("echo") { call in
            results.append(call.sink.openPath("a", flags: O_RDONLY, mode: 0))
            call.sink.reply(nil)
        }
        _ = try await host.start("path", ["from": "a"]).answer()
        #expect(results.takeAll() == [-ENOENT, -EPERM, -EPERM, -EPERM])
        _ = try await host.start("echo").answer()
        #expect(results.takeAll() == [-EPERM])
    }
}
