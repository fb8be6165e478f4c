/// A family of operations under `host.<family>.*`, shipped as one shared library.
///
/// One instance serves one project. A family writes its operations and nothing else: arguments arrive checked against
/// the descriptor, permission is given, and answers, events, cancellation and flow control are the Kit's.
public protocol Family: AnyObject, Sendable {
    /// The family's name, as in its descriptor.
    static var name: String { get }

    /// One line an operation; the names must be those of the descriptor.
    static var operations: [Operation<Self>] { get }

    /// Whether the family can work on this machine; runs without an instance.
    static func probe() -> Availability

    /// Makes the instance of one project.
    init(_ project: Project) throws

    /// Lets go of everything the instance holds; every call has ended.
    func close()
}

extension Family {
    public static func probe() -> Availability { .ready }
    public func close() {}
}

/// What a family says of this machine.
public enum Availability: Sendable {
    case ready
    /// Why it cannot work now, and what a person can do about it.
    case unavailable(reason: String, fix: String)

    var json: JSON {
        switch self {
        case .ready: ["status": "ready"]
        case .unavailable(let reason, let fix):
            ["status": "unavailable", "reason": .string(reason), "fix": .string(fix)]
        }
    }
}

/// One operation of a family: its name and the method that serves it.
public struct Operation<F: Family>: Sendable {
    enum Body: Sendable {
        case call(@Sendable (F, Call) throws -> Message)
        case task(@Sendable (F, Call) async throws -> Message)
        case stream(@Sendable (F, Call, EventStream) async throws -> Message)
    }

    let name: String
    let body: Body

    /// Answers on the thread it is called on: a host pool thread, which may block, or for an operation that the
    /// descriptor marks `inline` the caller's, which must not.
    public static func call<R: MessageConvertible>(
        _ name: String, _ body: @escaping @Sendable (F) -> (Call) throws -> R
    ) -> Self {
        Self(name: name, body: .call { family, call in try body(family)(call).message })
    }

    /// Answers later, from a task of its own, which is cancelled with the call.
    public static func task<R: MessageConvertible>(
        _ name: String, _ body: @escaping @Sendable (F) -> (Call) async throws -> R
    ) -> Self {
        Self(name: name, body: .task { family, call in try await body(family)(call).message })
    }

    /// Serves a stream from a task that lives as long as the stream; what it returns is the stream's final value.
    public static func stream<R: MessageConvertible>(
        _ name: String, _ body: @escaping @Sendable (F) -> (Call, EventStream) async throws -> R
    ) -> Self {
        Self(name: name, body: .stream { family, call, events in try await body(family)(call, events).message })
    }
}
