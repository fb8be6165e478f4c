public import ApsuleKit

/// Explains error codes: the host's own, and those that descriptors declare.
public struct ErrorCatalogue: Sendable {
    public struct Entry: Sendable {
        public let code: String
        public let text: ErrorText
        /// `host`, or the family that raises it.
        public let source: String
        /// The operations that declare it.
        public fileprivate(set) var operations: [String] = []

        public var json: JSON {
            [
                "code": .string(code), "meaning": .string(text.meaning), "fix": text.fix.map { .string($0) } ?? .null,
                "source": .string(source), "operations": .array(operations.map { .string($0) }),
            ]
        }
    }

    private var entries: [String: Entry] = [:]
    /// Codes that an operation declares and nobody explains.
    public private(set) var unexplained: [String] = []

    public init(descriptors: [Descriptor]) {
        for (code, meaning, fix) in HostErrorTexts.all {
            entries[code] = Entry(code: code, text: ErrorText(meaning, fix: fix), source: "host")
        }
        for descriptor in descriptors {
            let family = descriptor.family
            for (code, text) in descriptor.errorTexts where entries[code]?.source != "host" {
                entries[code] = Entry(code: code, text: text, source: family)
            }
            // Every family answers with these two, by the Kit.
            for reason in ["unavailable", "unsupported"] { add(family, "\(family).\(reason)") }
            for operation in descriptor.operations {
                for code in operation.errors {
                    add(family, code)
                    if entries[code] == nil, !unexplained.contains(code) { unexplained.append(code) }
                    entries[code]?.operations.append(operation.fullName)
                }
            }
        }
    }

    /// A code without a text of its own gets the one of its reason, where the Kit gives the reason its meaning.
    private mutating func add(_ family: String, _ code: String) {
        guard entries[code] == nil, code.hasPrefix(family + "."),
            let text = HostErrorTexts.common[String(code.dropFirst(family.count + 1))]
        else { return }
        entries[code] = Entry(code: code, text: text, source: family)
    }

    public subscript(code: String) -> Entry? { entries[code] }
    public var codes: [String] { entries.keys.sorted() }
}
