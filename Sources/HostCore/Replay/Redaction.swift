internal import ApsuleKit

/// Takes what a descriptor calls secret out of a payload: the operation's `redact`, paths under `arguments`, `result`
/// and `events.<name>`; and out of errors.
///
/// A path leads through arrays to each of their elements. Names under `headers` are HTTP's: any case matches. User and
/// password go out of every URL that is checked against a scope.
struct Redaction: Sendable {
    private let paths: [[String]]
    private let urls: [[String]]

    init(_ operation: OperationDescriptor) {
        self.init(
            operation.redact,
            urls: operation.scope.filter { $0.match == .origin }.map { "arguments." + $0.argument })
    }

    init(_ redact: [String], urls: [String] = []) {
        let parts = { (path: String) in path.split(separator: ".").map(String.init) }
        (paths, self.urls) = (redact.map(parts), urls.map(parts))
    }

    /// What is left of a payload; nil where all of it is secret.
    ///
    /// The blobs that only a secret named are emptied: the numbers of the others hold.
    func apply(_ payload: Payload, at place: String...) -> Payload? {
        let (secrets, urls) = (paths.filter { $0.starts(with: place) }, urls.filter { $0.starts(with: place) })
        guard !secrets.isEmpty || !urls.isEmpty else { return payload }
        var value = payload.value ?? .null
        for path in secrets {
            guard path.count > place.count else { return nil }
            value = Self.changed(path[place.count...], in: value) { _ in nil }
        }
        for path in urls { value = Self.changed(path[place.count...], in: value, Self.withoutUser) }
        let used = Self.blobs(value)
        let blobs = payload.blobs.enumerated().map { used.contains($0) ? $1 : Blob([]) }
        return Payload(value, blobs: blobs)
    }

    /// What is left of an error: paths under `error` name parts of it, and what is secret in arguments, results or
    /// events is so in the details too.
    func apply(_ error: HostError) -> JSON {
        var value = error.json
        for path in paths {
            switch path.first {
            case "error":
                value =
                    path.count == 1 ? ["code": .string(error.code)] : Self.changed(path[1...], in: value) { _ in nil }
            case "arguments", "result": value = Self.withoutDetail(path[1...], in: value)
            case "events": value = Self.withoutDetail(path.dropFirst(2), in: value)
            default: break
            }
        }
        return value
    }

    /// Details may have what is named at any place of its path: whole, or only its end.
    private static func withoutDetail(_ path: ArraySlice<String>, in error: JSON) -> JSON {
        guard !path.isEmpty else { return changed(["details"], in: error) { _ in nil } }
        return path.indices.reduce(error) { changed(["details"] + path[$1...], in: $0) { _ in nil } }
    }

    /// - Parameter change: what a value at the path becomes; nil removes it.
    private static func changed(
        _ path: ArraySlice<String>, in value: JSON, isHeader: Bool = false, _ change: (JSON) -> JSON?
    ) -> JSON {
        guard let name = path.first else { return value }
        switch value {
        case .array(let elements): return .array(elements.map { changed(path, in: $0, isHeader: isHeader, change) })
        case .object(let members):
            return .object(
                members.compactMap { member in
                    let isNamed =
                        isHeader ? member.key.lowercased() == name.lowercased() : JSON.same(member.key, name)
                    guard isNamed else { return member }
                    if path.count == 1 { return change(member.value).map { .init(member.key, $0) } }
                    let isHeader = name == "headers"
                    return .init(
                        member.key, changed(path.dropFirst(), in: member.value, isHeader: isHeader, change))
                })
        default: return value
        }
    }

    /// A URL, or an array of them, without what stands before the host.
    private static func withoutUser(_ value: JSON) -> JSON? {
        if case .array(let elements) = value { return .array(elements.compactMap(withoutUser)) }
        guard let url = value.stringValue.map({ $0[...] }), let start = url.firstRange(of: "://")?.upperBound else {
            return value
        }
        let end = url[start...].firstIndex { "/?#".contains($0) } ?? url.endIndex
        guard let at = url[start..<end].lastIndex(of: "@") else { return value }
        return .string(String(url[..<start] + url[url.index(after: at)...]))
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
