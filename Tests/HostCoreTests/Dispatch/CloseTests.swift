import ApsuleKit
import Glibc
import Synchronization
import Testing

@testable import HostCore

@Suite struct CloseTests {
    @Test func closeCancelsAndWaitsForTerminals() async throws {
        let host = try FakeHost()
        host.provider.on("echo") { _ in }
        host.provider.on("tick") { call in
            call.sink.reply(nil)
            _ = call.sink.event("tick", nil)
        }
        host.provider.onCancel { call in
            HostCore.Thread.start(name: "late") {
                usleep(100_000)
                if call.sink.isStream { call.sink.end(Payload(["n": 1])) } else { call.sink.fail(.cancelled) }
            }
        }
        let call = host.start("echo")
        let stream = host.start("tick")
        try await eventually { stream.events.count == 1 && host.provider.live.count == 2 }
        host.dispatcher.close()
        #expect(call.error?.code == "host.cancelled")
        #expect(stream.end == "cancelled")
        #expect(stream.final == ["n": 1])
        #expect(host.provider.isClosed)
        #expect(host.start("echo").error?.code == "host.cancelled")
        #expect(host.provider.faults.isEmpty)
        #expect(host.console.lines.isEmpty)
    }

    /// The ABI promises that every invoke has returned before close.
    @Test func closeWaitsForThreadsInsideTheProvider() async throws {
        let host = try FakeHost()
        let gate = Gatekeeper()
        host.provider.on("echo") { call in
            call.sink.reply(nil)
            gate.wait()
        }
        let call = host.start("echo")
        _ = try await call.answer()
        HostCore.Thread.start(name: "opens") {
            usleep(200_000)
            gate.open()
        }
        host.dispatcher.close()
        #expect(host.provider.isClosed)
        #expect(host.provider.faults.isEmpty)
    }

    @Test func aProviderThatNeverReturnsIsNotClosed() async throws {
        let host = try FakeHost()
        let gate = Gatekeeper()
        host.provider.on("echo") { _ in gate.wait() }
        let call = host.start("echo")
        try await eventually { !host.provider.live.isEmpty }
        let took = try await onThread {
            let begin = Clock.now
            host.dispatcher.close()
            return Clock.now - begin
        }
        #expect(took < 7_000)
        #expect(call.error?.code == "host.cancelled")
        #expect(!host.provider.isClosed)
        #expect(host.console.lines.contains { $0.contains("is not closed") })
        gate.open()
    }

    @Test func nothingReachesTheProviderAfterClose() async throws {
        try await onThread {
            for _ in 0..<200 {
                let host = try FakeHost()
                host.provider.on("tick") { $0.sink.reply(nil) }
                let isOver = Atomic(false)
                let done = Atomic(0)
                for _ in 0..<2 {
                    HostCore.Thread.start(name: "caller") {
                        while !isOver.load(ordering: .acquiring) {
                            host.start("echo")
                            host.start("tick").cancel()
                        }
                        done.add(1, ordering: .releasing)
                    }
                }
                usleep(2_000)
                host.dispatcher.close()
                isOver.store(true, ordering: .releasing)
                while done.load(ordering: .acquiring) < 2 { usleep(200) }
                try #require(host.provider.faults.isEmpty, "\(host.provider.faults)")
            }
        }
    }

    @Test func openingOneFamilyHoldsUpNoOther() async throws {
        let folder = try TemporaryFolder()
        let descriptors = try ["slow", "fast"].map { name in
            try Descriptor([
                "apsule": 1, "family": .string(name), "version": "1.0.0", "summary": "A family.",
                "operations": ["go": ["summary": "Goes."]],
            ])
        }
        let gate = Gatekeeper()
        let opened = Atomic(0)
        let catalog = Catalog(registry: Registry(folders: [], hostFamilies: descriptors)) { descriptor, _ in
            if descriptor.family == "slow" {
                opened.add(1, ordering: .relaxed)
                gate.wait()
            }
            return FakeProvider(["go"])
        }
        let files = try ProjectFiles(data: folder.path, identity: .commandLine)
        let dispatcher = Dispatcher(
            catalog: catalog, gate: Gate(authority: FakeAuthority()), files: files, console: FakeConsole())
        let (slow, other, fast) = (Recorder(), Recorder(), Recorder())
        dispatcher.start("slow.go", .emptyObject, timeoutMs: nil, observer: slow)
        dispatcher.start("slow.go", .emptyObject, timeoutMs: nil, observer: other)
        try await eventually { opened.load(ordering: .relaxed) == 1 }
        dispatcher.start("fast.go", .emptyObject, timeoutMs: nil, observer: fast)
        _ = try await fast.answer()
        #expect(fast.error == nil)
        gate.open()
        _ = try await (slow.answer(), other.answer())
        #expect(slow.error == nil && other.error == nil)
        #expect(opened.load(ordering: .relaxed) == 1)
        dispatcher.close()
    }

    @Test func aFamilyThatCannotBeOpenedSaysWhyEachTime() async throws {
        let folder = try TemporaryFolder()
        let registry = Registry(folders: [], hostFamilies: [try Descriptor(FakeHost.descriptor)])
        let catalog = Catalog(registry: registry) { _, _ throws(HostError) in
            throw HostError.unavailable("fake", "No such thing.", fix: "Buy one.")
        }
        let files = try ProjectFiles(data: folder.path, identity: .commandLine)
        let dispatcher = Dispatcher(
            catalog: catalog, gate: Gate(authority: FakeAuthority()), files: files, console: FakeConsole())
        for _ in 0..<2 {
            let recorder = Recorder()
            dispatcher.start("fake.tick", .emptyObject, timeoutMs: nil, observer: recorder)
            _ = try await recorder.answer()
            #expect(recorder.error?.code == "fake.unavailable")
        }
        dispatcher.close()
    }

    @Test func aThreadPoolRunsEverythingAndKeepsToItsLimit() async throws {
        let pool = ThreadPool(limit: 4)
        let running = Atomic(0)
        let most = Atomic(0)
        let ran = Atomic(0)
        for _ in 0..<4 {
            HostCore.Thread.start(name: "submits") {
                for index in 0..<2_500 {
                    pool.submit {
                        let now = running.add(1, ordering: .relaxed).newValue
                        most.max(now, ordering: .relaxed)
                        if index % 500 == 0 { usleep(1_000) }
                        running.subtract(1, ordering: .relaxed)
                        ran.add(1, ordering: .relaxed)
                    }
                }
            }
        }
        try await eventually(30) { ran.load(ordering: .relaxed) == 10_000 }
        #expect(most.load(ordering: .relaxed) <= 4)
        pool.close()
        let late = Atomic(false)
        pool.submit { late.store(true, ordering: .releasing) }
        try await eventually { late.load(ordering: .acquiring) }
    }
}
