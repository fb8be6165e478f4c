internal import ApsuleKit

/// What tells one recorded call from another: the operation and its arguments, in one spelling.
///
/// Binary data counts as its Base64 text, secrets do not count. Calls with equal keys are told apart by their order.
struct CallKey: Hashable, Sendable {
    let operation: String
    let arguments: JSON
    private let text: String

    /// - Parameter arguments: what the provider gets: defaults are in it.
    init(_ operation: OperationDescriptor, _ arguments: Payload) {
        let open = Redaction(operation).apply(arguments, at: "arguments") ?? .null
        self.init(operation: operation.fullName, arguments: open.inlined() ?? .null)
    }

    init(operation: String, arguments: JSON) {
        (self.operation, self.arguments) = (operation, arguments)
        text = arguments.canonical
    }

    static func == (one: CallKey, other: CallKey) -> Bool {
        JSON.same(one.operation, other.operation) && JSON.same(one.text, other.text)
    }

    func hash(into hasher: inout Hasher) {
        hasher.combine(operation)
        hasher.combine(text)
    }

    /// The arguments that differ from those of another call, by name.
    func differences(_ other: CallKey) -> [String] {
        let mine = arguments.members ?? []
        let names = mine.map(\.key) + (other.arguments.members ?? []).map(\.key).filter { arguments[$0] == nil }
        return names.filter { name in
            guard let one = arguments[name], let other = other.arguments[name] else { return true }
            return !JSON.same(one.canonical, other.canonical)
        }
    }
}
