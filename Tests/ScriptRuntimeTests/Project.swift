import ApsuleKit
import Dispatch
import HostCore
import ScriptRuntime
import ScriptText
import Synchronization
import Testing

/// A script that runs in a runtime of its own, and what came of it.
final class Project: Sendable {
    let runtime: ScriptRuntime
    private let record = Mutex(Record())
    private let changed = DispatchSemaphore(value: 0)

    struct Record {
        var lines: [String] = []
        var levels: [LogLevel] = []
        var failure: ScriptError?
        var settled = 0
        var isStopped = false
        var beats = 0
    }

    private final class Box: Sendable {
        let project = Mutex<Project?>(nil)
        func update(_ change: (inout Record) -> Void) { project.withLock { $0 }?.update(change) }
    }

    /// - Parameter limits: their memory is that of the whole process, which all suites share.
    init(_ port: FakePort, limits: ScriptLimits = ScriptLimits(memoryMB: 4_096), files: [String: String] = [:]) {
        let box = Box()
        runtime = ScriptRuntime(
            port: port, limits: limits,
            hooks: ScriptHooks(
                console: { level, text in
                    box.update {
                        $0.lines.append(text)
                        $0.levels.append(level)
                    }
                },
                readFile: { path in files[path].map { Array($0.utf8) } },
                settled: { box.update { $0.settled += 1 } },
                failed: { error in box.update { $0.failure = error } },
                heartbeat: { box.update { $0.beats += 1 } },
                stopped: {
                    box.update { $0.isStopped = true }
                    box.project.withLock { $0 = nil }
                }))
        box.project.withLock { $0 = self }
    }

    deinit { runtime.stop() }

    private func update(_ change: (inout Record) -> Void) {
        record.withLock { change(&$0) }
        changed.signal()
    }

    var lines: [String] { record.withLock { $0.lines } }
    var failure: ScriptError? { record.withLock { $0.failure } }
    var snapshot: Record { record.withLock { $0 } }

    /// Waits until the record is as asked.
    func wait(_ seconds: Double = 20, until condition: (Record) -> Bool) -> Bool {
        let deadline = DispatchTime.now() + seconds
        while !record.withLock({ condition($0) }) {
            if changed.wait(timeout: deadline) == .timedOut { return record.withLock { condition($0) } }
        }
        return true
    }

    /// Runs to the end: settled, or failed.
    @discardableResult
    func run(_ text: String, path: String = "main.js", sourceMap: SourceMap? = nil) -> Record {
        runtime.run(Script(path: path, text: text, sourceMap: sourceMap))
        #expect(wait { $0.settled > 0 || $0.failure != nil }, "the script neither settled nor failed")
        return snapshot
    }

    var counters: ScriptCounters {
        let result = Mutex(ScriptCounters())
        let done = DispatchSemaphore(value: 0)
        runtime.readCounters { counters in
            result.withLock { $0 = counters }
            done.signal()
        }
        done.wait()
        return result.withLock { $0 }
    }

    func stop() {
        runtime.stop()
        #expect(wait { $0.isStopped }, "the runtime did not stop")
    }

    /// What a script printed that must not fail.
    static func output(_ port: FakePort, _ text: String, files: [String: String] = [:]) -> [String] {
        let project = Project(port, files: files)
        let record = project.run(text)
        if let failure = record.failure {
            Issue.record("\(failure.summary)\n\(failure.codeFrame ?? "")\n\(failure.stack)")
        }
        project.stop()
        return record.lines
    }
}

/// A manifest with the given operations.
func manifest(_ family: String, _ operations: JSON) -> JSON {
    ["apsule": 1, "family": .string(family), "version": "1.0.0", "summary": "For tests.", "operations": operations]
}

/// An operation that takes anything.
func operation(_ more: (String, JSON)...) -> JSON {
    var json: JSON = ["summary": "For tests.", "arguments": ["type": "object"]]
    for (key, value) in more { json.set(key, value) }
    return json
}
