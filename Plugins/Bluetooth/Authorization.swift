import ApsuleKit
internal import Dispatch
internal import Synchronization

extension BluetoothFamily {
    /// Whether Bluetooth can be used now; a radio that cannot is an answer, not an error.
    ///
    /// - Returns: `{status: "ready" | "unavailable", code?, reason?, fix?, adapter?: {name, alias, powered, scanning},
    ///   bluez?}`; `bluez` is the daemon's version where its adapters tell it.
    func authorization(_ call: Call) async throws -> JSON {
        do throws(HostError) {
            _ = try await radio.adapter()
            return radio.status(nil)
        } catch {
            guard error != .cancelled else { throw error }
            return radio.status(error)
        }
    }

    /// Asks once, without an instance, whether Bluetooth works on this machine; waits for the daemon's answer.
    static func probe() -> Availability {
        let question = Question()
        let radio = Radio(bluez: Bluez())
        Task {
            do throws(HostError) { _ = try await radio.adapter() } catch { question.problem.withLock { $0 = error } }
            question.isAnswered.signal()
        }
        question.isAnswered.wait()
        radio.bluez.close()
        guard let problem = question.problem.withLock({ $0 }) else { return .ready }
        return .unavailable(reason: problem.message, fix: problem.details["fix"]?.stringValue ?? "")
    }
}

/// What a probe waits for on the thread of its caller.
private final class Question: Sendable {
    let problem = Mutex<HostError?>(nil)
    let isAnswered = DispatchSemaphore(value: 0)
}
