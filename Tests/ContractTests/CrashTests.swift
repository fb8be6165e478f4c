import ApsuleKit
import Foundation
import HostCore
import Synchronization
import TestPrograms
import Testing

/// A plugin-host that ends, hangs or lies: one error for the calls that ran, and the next call finds a new process.
@Suite(.serialized)
struct CrashTests {
    private let patient = RestartPolicy(maximumCrashes: .max, withinMs: 1_000, pauseMs: 0)

    @Test(arguments: [("segv", SIGSEGV), ("abort", SIGABRT), ("exit", 0)])
    func isOneError(_ how: String, _ signal: Int32) async throws {
        let served = try Served(.pluginHost, policy: patient)
        defer { served.provider.close() }
        let waiting = served.start("wait")
        let stream = served.start("ticks", ["ms": 1])
        try await eventually { stream.sink.eventCount > 0 }
        let crashed = try await served.start("crash", ["how": .string(how)]).done()
        for (sink, operation) in [(crashed, "crash"), (waiting.sink, "wait"), (stream.sink, "ticks")] {
            try await eventually { sink.isDone }
            let error = try #require(sink.errors.first)
            #expect(error.code == "plugin.crashed")
            #expect(error.details["family"] == "everything")
            #expect(error.details["operation"]?.stringValue == "everything.\(operation)")
            if signal != 0 {
                #expect(error.details["signal"]?.intValue == Int64(signal))
            } else {
                #expect(error.details["exitStatus"] == 3)
            }
            #expect(sink.terminals == 1)
        }
        #expect(try await served.call("echo", ["again": true]) == ["again": true])
        #expect(served.host.logged.contains { $0.hasPrefix("error everything: The everything plugin crashed.") })
    }

    @Test func stopsAfterThreeCrashesAndSaysSo() async throws {
        let served = try Served(.pluginHost, policy: RestartPolicy(pauseMs: 2_000))
        defer { served.provider.close() }
        let provider = try #require(served.provider as? RemoteProvider)
        try await served.start("crash", ["how": "segv"]).done()
        try await served.start("crash", ["how": "segv"]).done()
        // After the second one there is a pause.
        let early = try await served.start("nothing").done()
        #expect(early.errors.first?.details["retryAfterMs"] != nil)
        try await Task.sleep(for: .milliseconds(2_010))
        #expect(try await served.call("nothing") == .null)
        try await served.start("crash", ["how": "segv"]).done()
        try await Task.sleep(for: .milliseconds(200))
        let stopped = try await served.start("nothing").done()
        #expect(stopped.errors.first?.code == "plugin.crashed")
        #expect(stopped.errors.first?.message.contains("crashed 3 times within five minutes and was stopped") == true)
        #expect(stopped.errors.first?.details["fix"] != nil)
        provider.reset()
        #expect(try await served.call("nothing") == .null)
    }

    /// A process that does not run any more is ended by close; until then its callers wait no longer than they want.
    @Test(arguments: ["hang", "stop"]) func endsAHangOnClose(_ how: String) async throws {
        let served = try Served(.pluginHost)
        let hanging = served.start("crash", ["how": .string(how)])
        try await Task.sleep(for: .milliseconds(200))
        hanging.cancel()
        if how == "hang" { #expect(try await served.call("nothing") == .null) }
        #expect(!hanging.sink.isDone)
        let start = ContinuousClock.now
        served.provider.close()
        #expect(ContinuousClock.now - start < .seconds(8))
        try await hanging.done()
    }

    /// A process that does not end what was cancelled is ended, once nobody waits for anything else in it.
    @Test(arguments: ["hang", "stop"]) func endsAHangThatNobodyWaitsFor(_ how: String) async throws {
        let served = try Served(.pluginHost)
        defer { served.provider.close() }
        let waiting = served.start("wait")
        #expect(try await served.call("nothing") == .null)
        let hanging = served.start("crash", ["how": .string(how)])
        try await Task.sleep(for: .milliseconds(200))
        hanging.cancel()
        served.provider.overdue(hanging.id)
        // Somebody still waits for another call.
        if how == "hang" { #expect(try await served.call("nothing") == .null) }
        #expect(!hanging.sink.isDone && !waiting.sink.isDone)
        waiting.cancel()
        if how == "hang" { try await waiting.done() } else { served.provider.overdue(waiting.id) }
        let sink = try await hanging.done()
        #expect(sink.errors.first?.code == "plugin.crashed")
        #expect(sink.errors.first?.message.contains("hung") == true)
        #expect(sink.terminals == 1)
        #expect(try await served.call("nothing") == .null)
    }

    /// Nothing is kept of a process that is gone: no memory, no descriptor, no thread, no zombie.
    @Test func staysFlatOverAThousandCrashes() async throws {
        let served = try Served(.pluginHost, policy: patient)
        defer { served.provider.close() }
        func crash(_ count: Int) async throws {
            for _ in 0..<count {
                let sink = try await served.start("crash", ["how": "exit"]).done()
                #expect(sink.errors.first?.code == "plugin.crashed")
            }
        }
        try await crash(100)
        // Other tests run in this process, too: what leaks grows in every stretch, what they use does not.
        var marks = [try Footprint()]
        for _ in 0..<5 {
            try await crash(200)
            try await Task.sleep(for: .milliseconds(200))
            marks.append(try Footprint())
        }
        let growth = zip(marks.dropFirst(), marks)
        #expect(growth.map { $0.kilobytes - $1.kilobytes }.min() ?? 0 < 400, "\(marks)")
        #expect(growth.map { $0.descriptors - $1.descriptors }.min() ?? 0 < 50, "\(marks)")
        #expect(growth.map { $0.threads - $1.threads }.min() ?? 0 < 50, "\(marks)")
        #expect(growth.map { $0.children - $1.children }.min() ?? 0 < 50, "\(marks)")
    }

    private struct Footprint {
        let kilobytes: Int
        let descriptors: Int
        let threads: Int
        let children: Int

        init() throws {
            let manager = FileManager.default
            let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
            let line = status.split(separator: "\n").first { $0.hasPrefix("RssAnon:") }
            kilobytes = line.flatMap { Int($0.split(whereSeparator: \.isWhitespace)[1]) } ?? 0
            descriptors = try manager.contentsOfDirectory(atPath: "/proc/self/fd").count
            threads = try manager.contentsOfDirectory(atPath: "/proc/self/task").count
            children = try manager.contentsOfDirectory(atPath: "/proc/self/task").reduce(0) { count, task in
                let list = try? String(contentsOfFile: "/proc/self/task/\(task)/children", encoding: .utf8)
                return count + (list?.split(separator: " ").count ?? 0)
            }
        }
    }

    @Test func answersAProbeWithoutAnInstance() throws {
        let path = Workshop.everything
        let manifest = Workshop.repository.appending(path: "Tests/Plugins/everything/everything.json")
        let descriptor = try Descriptor(parsing: Array(Data(contentsOf: manifest)))
        let connection = try Served.start(path, descriptor, folder: nil)
        #expect(connection.probe(milliseconds: 20_000) == ["status": "ready"])
        #expect(connection.process.wait(milliseconds: 5_000) == .exited(0))
        let (mine, theirs) = try OwnedFile.socketPair()
        let silent = PluginHostConnection(socket: mine, process: Liar(theirs, []))
        #expect(silent.probe(milliseconds: 50) == nil)
    }

    /// What the descriptor promises and the table does not keep.
    @Test func refusesATableOfAnotherABI() throws {
        let manifest = Workshop.repository.appending(path: "Tests/Plugins/everything/everything.json")
        let descriptor = try Descriptor(parsing: Array(Data(contentsOf: manifest)))
        setenv("EVERYTHING_ABI", "2", 1)
        defer { unsetenv("EVERYTHING_ABI") }
        let error = #expect(throws: HostError.self) {
            try PluginLibrary(path: Workshop.everything, descriptor: descriptor)
        }
        #expect(error?.code == "plugin.abi_mismatch")
        #expect(error?.details["host"] == 1 && error?.details["plugin"] == 2)
    }

    @Test(arguments: ["silent", "blocked"]) func waitsForNoProbeForEver(_ how: String) throws {
        let manifest = Workshop.repository.appending(path: "Tests/Plugins/everything/everything.json")
        let descriptor = try Descriptor(parsing: Array(Data(contentsOf: manifest)))
        let library = try PluginLibrary(path: Workshop.everything, descriptor: descriptor)
        #expect(library.probe(milliseconds: 20_000) == ["status": "ready"])
        setenv("EVERYTHING_PROBE", how, 1)
        defer { unsetenv("EVERYTHING_PROBE") }
        #expect(library.probe(milliseconds: 100) == nil)
    }

    /// A process behind the wire that is no plugin-host at all.
    private final class Liar: PluginHostProcess {
        private let socket: OwnedFile
        private let frames: [Frame]
        private let ended = Atomic(false)

        init(_ socket: OwnedFile, _ frames: [Frame]) {
            (self.socket, self.frames) = (socket, frames)
            HostCore.Thread.start(name: "liar") { [self] in
                let channel = FrameChannel(socket)
                for frame in frames { channel.send(frame) }
                while (try? channel.receive()) != nil {}
                ended.store(true, ordering: .sequentiallyConsistent)
            }
        }

        func wait(milliseconds: Int) -> ProcessEnd? { ended.load(ordering: .sequentiallyConsistent) ? .exited(0) : nil }
        func kill() { shutdown(socket.raw, Int32(SHUT_RDWR)) }
    }

    /// Whatever comes over the wire is an error at worst.
    @Test func believesNothingItIsSent() async throws {
        let manifest = Workshop.repository.appending(path: "Tests/Plugins/everything/everything.json")
        let descriptor = try Descriptor(parsing: Array(Data(contentsOf: manifest)))
        var random = SystemRandomNumberGenerator()
        for round in 0..<100 {
            let frames = (0..<20).map { _ in
                Frame(
                    UInt8.random(in: 0...14, using: &random),
                    (0..<Int.random(in: 0...40, using: &random)).map { _ in UInt8.random(in: 0...3, using: &random) })
            }
            let provider = RemoteProvider(
                descriptor, project: .null, host: RecordingHost(data: "/tmp"), policy: patient
            ) { () throws(HostError) in
                let (mine, theirs) = try OwnedFile.socketPair()
                return PluginHostConnection(socket: mine, process: Liar(theirs, frames))
            }
            let sink = RecordingSink(isStream: false)
            provider.invoke(0, call: UInt64(round + 1), arguments: .emptyObject, sink: sink)
            try await eventually(30) { sink.isDone }
            #expect(sink.terminals == 1)
            provider.close()
        }
    }
}
