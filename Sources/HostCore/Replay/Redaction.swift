internal import ApsuleKit

/// Takes what a descriptor calls secret out of a payload: the operation's `redact`, paths under `arguments`, `result`
/// and `events.<name>`.
///
/// A path leads through arrays to each of their elements. Names under `headers` are HTTP's: any case matches.
struct Redaction: Sendable {
    private let paths: [[String]]

    init(_ redact: [String]) { paths = redact.map { $0.split(separator: ".").map(String.init) } }

    /// What is left of a payload; nil where all of it is secret.
    ///
    /// The blobs that only a secret named are emptied: the numbers of the others hold.
    func apply(_ payload: Payload, at place: String...) -> Payload? {
        let relevant = Redaction(paths: paths.filter { $0.starts(with: place) })
        guard !relevant.paths.isEmpty else { return payload }
        var value = payload.value ?? .null
        for path in relevant.paths {
            guard path.count > place.count else { return nil }
            value = Self.without(path[place.count...], in: value, isHeader: false)
        }
        let used = Self.blobs(value)
        let blobs = payload.blobs.enumerated().map { used.contains($0) ? $1 : Blob([]) }
        return Payload(value, blobs: blobs)
    }

    private init(paths: [[String]]) { self.paths = paths }

    private static func without(_ path: ArraySlice<String>, in value: JSON, isHeader: Bool) -> JSON {
        guard let name = path.first else { return value }
        switch value {
        case .array(let elements): return .array(elements.map { without(path, in: $0, isHeader: isHeader) })
        case .object(let members):
            return .object(
                members.compactMap { member in
                    let isNamed =
                        isHeader ? member.key.lowercased() == name.lowercased() : JSON.same(member.key, name)
                    guard isNamed else { return member }
                    if path.count == 1 { return nil }
                    return .init(member.key, without(path.dropFirst(), in: member.value, isHeader: name == "headers"))
                })
        default: return value
        }
    }

    /// The numbers of the blobs that a value names.
    static func blobs(_ value: JSON) -> Set<Int> {
        switch value {
        case .array(let elements): return elements.reduce(into: []) { $0.formUnion(blobs($1)) }
        case .object(let members):
            if let index = value.blobIndex { return [index] }
            return members.reduce(into: []) { $0.formUnion(blobs($1.value)) }
        default: return []
        }
    }
}
