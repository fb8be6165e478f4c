/// What a caller wrote as text or as bytes: `{text}`, `{base64}` (Base64 or a `Uint8Array`), or a `Uint8Array` alone.
public struct Content: ArgumentValue, Hashable {
    public let bytes: [UInt8]

    public init(_ arguments: Arguments) throws(HostError) {
        guard arguments.json.members != nil else { throw arguments.mismatch("{text}, {base64} or a Uint8Array") }
        if arguments.json["$blob"] != nil {
            bytes = try Bytes(arguments).bytes
        } else {
            self = try Content(arguments, text: "text", base64: "base64")
        }
    }

    /// - Parameters:
    ///   - text: names the member that is text, taken as UTF-8.
    ///   - base64: names the member that is Base64 or a `Uint8Array`.
    /// - Throws: `host.invalid_argument` unless exactly one of them is there.
    public init(_ arguments: Arguments, text: String, base64: String) throws(HostError) {
        if try arguments.only(text, base64) == text {
            let value: String = try arguments[text]
            bytes = Array(value.utf8)
        } else {
            let value: Bytes = try arguments[base64]
            bytes = value.bytes
        }
    }
}

extension Arguments {
    /// Which of the members is there.
    ///
    /// - Throws: `host.invalid_argument` unless exactly one of them is.
    public func only(_ names: String...) throws(HostError) -> String {
        let given = names.filter(has)
        guard given.count == 1 else {
            throw .invalidArgument(
                path, expected: "exactly one of " + names.joined(separator: ", "),
                got: given.isEmpty ? "none" : given.joined(separator: " and "))
        }
        return given[0]
    }
}
