internal import ApsuleKit
internal import CProcess
internal import Glibc
internal import Synchronization

/// The permanent thread that starts children and notices their end.
///
/// A child that asked to die with its parent dies with the *thread* that started it, so that must be one which never
/// ends.
final class ChildKeeper: Sendable {
    static let shared = ChildKeeper()

    private struct State {
        var requests: [@Sendable () -> Void] = []
        var children: [ChildProcess] = []
    }

    private let state = Mutex(State())
    private let handlers = SerialQueue()
    private let wake = process_event()

    private init() {
        Thread.start(name: "apsule.children") { [self] in run() }
    }

    func start(_ command: ChildCommand) throws(HostError) -> ChildProcess {
        let answer = Mutex<Result<ChildProcess, HostError>?>(nil)
        let done = Signal()
        submit { [self] in
            let result = spawn(command)
            answer.withLock { $0 = result }
            done.post()
        }
        done.wait()
        guard let result = answer.withLock({ $0 }) else { throw HostError("host.system_error", "Nothing was started.") }
        return try result.get()
    }

    /// Runs what belongs to an exit, in order.
    func notify(_ body: @escaping @Sendable () -> Void) { handlers.submit(body) }

    private func submit(_ request: @escaping @Sendable () -> Void) {
        state.withLock { $0.requests.append(request) }
        var one: UInt64 = 1
        // A counter that is full wakes just as well.
        _ = write(wake, &one, MemoryLayout.size(ofValue: one))
    }

    private func spawn(_ command: ChildCommand) -> Result<ChildProcess, HostError> {
        do throws(HostError) {
            let pid = try command.spawn()
            do throws(HostError) {
                let child = try ChildProcess(pid: pid)
                state.withLock { $0.children.append(child) }
                return .success(child)
            } catch {
                // Nobody could watch it. It is not reaped yet, so the number is still its own.
                kill(pid, SIGKILL)
                waitpid(pid, nil, 0)
                return .failure(error)
            }
        } catch {
            return .failure(error)
        }
    }

    private func run() {
        while true {
            let (requests, children) = state.withLock { state in
                defer { state.requests = [] }
                return (state.requests, state.children)
            }
            for request in requests { request() }
            if !requests.isEmpty { continue }
            var polled = [pollfd(fd: wake, events: Int16(POLLIN), revents: 0)]
            polled += children.map { pollfd(fd: $0.pidfd.raw, events: Int16(POLLIN), revents: 0) }
            guard poll(&polled, nfds_t(polled.count), -1) > 0 else { continue }
            var count: UInt64 = 0
            if polled[0].revents != 0 { _ = read(wake, &count, MemoryLayout.size(ofValue: count)) }
            let ended = zip(children, polled.dropFirst()).filter { $1.revents != 0 && $0.reap() }.map(\.0)
            if !ended.isEmpty {
                state.withLock { state in state.children.removeAll { child in ended.contains { $0 === child } } }
            }
        }
    }
}
