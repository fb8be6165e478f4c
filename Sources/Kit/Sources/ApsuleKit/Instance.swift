internal import CApsule
internal import Synchronization

/// One open instance behind the ABI: which calls run, and how each of them ends.
class Instance: @unchecked Sendable {
    // @unchecked: subclassed by one final generic class, all of whose state is immutable or behind a Mutex.
    func invoke(_ operation: Int, _ id: apsule_call, _ arguments: Arguments) {}
    func cancel(_ id: apsule_call) {}
    func resume(_ id: apsule_call) {}
    func close() {}
}

/// Not inside the generic class, where each use would look its type up at run time.
private struct Running {
    let call: Call
    var task: Task<Void, Never>?
    var events: EventStream?
}

final class FamilyInstance<F: Family>: Instance, @unchecked Sendable {
    // @unchecked: all state is immutable or behind the Mutex.
    private let family: F
    private let link: HostLink
    private let operations: [Operation<F>]
    private let running = Mutex<[apsule_call: Running]>([:])

    init(_ family: F, operations: [Operation<F>], link: HostLink) {
        self.family = family
        self.operations = operations
        self.link = link
    }

    override func invoke(_ index: Int, _ id: apsule_call, _ arguments: Arguments) {
        let operation = operations[index]
        let call = Call(id: id, operation: operation.name, arguments: arguments, link: link)
        switch operation.body {
        case .call(let body):
            running.withLock { $0[id] = Running(call: call) }
            do {
                let message = try body(family, call)
                finish(id)
                link.reply(id, message)
            } catch {
                finish(id)
                link.fail(id, hostError(error))
            }
        case .task(let body):
            start(call) { [family, link] in
                do { link.reply(id, try await body(family, call)) } catch { link.fail(id, self.hostError(error)) }
            }
        case .stream(let body):
            let events = EventStream(call)
            start(call, events) { [family, link] in
                do {
                    let final = try await body(family, call, events)
                    events.open()
                    link.end(id, final)
                } catch {
                    link.fail(id, self.hostError(error))
                }
            }
        }
    }

    /// The task is made under the lock, so that a cancel that arrives at once finds it.
    private func start(_ call: Call, _ events: EventStream? = nil, _ body: @escaping @Sendable () async -> Void) {
        running.withLock { running in
            let task = Task {
                await body()
                self.finish(call.id)
            }
            running[call.id] = Running(call: call, task: task, events: events)
        }
    }

    private func finish(_ id: apsule_call) { running.withLock { _ = $0.removeValue(forKey: id) } }

    override func cancel(_ id: apsule_call) {
        guard let entry = running.withLock({ $0[id] }) else { return }
        entry.call.cancel()
        entry.events?.stop()
        entry.task?.cancel()
    }

    override func resume(_ id: apsule_call) { running.withLock { $0[id] }?.events?.resume() }

    override func close() {
        link.close()
        family.close()
    }

    private func hostError(_ error: any Error) -> HostError {
        switch error {
        case let error as HostError: error
        case is CancellationError: .cancelled
        default: HostError("\(F.name).failed", "\(error)")
        }
    }
}
