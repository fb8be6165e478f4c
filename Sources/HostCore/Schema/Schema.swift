public import ApsuleKit

/// A compiled JSON Schema of the descriptor's vocabulary.
///
/// Keywords: type (one or several), properties, required, additionalProperties (true, false or a schema), items, enum,
/// const, minimum, maximum, minLength, maxLength (Unicode scalars), minItems, maxItems, pattern, format,
/// contentEncoding, default, description, oneOf. Keywords that start with `x-` are ignored, any other is refused.
/// Meaning: https://json-schema.org/draft/2020-12/json-schema-validation
public final class Schema: Sendable {
    public let json: JSON
    /// The defaults of the top-level properties, in their order.
    private let defaults: [Default]
    /// The top-level properties in their order.
    public let propertyNames: [String]

    private let rule: SchemaRule

    private struct Default {
        let name: String
        /// `"name":value`.
        let text: [UInt8]
    }

    /// Compiles a schema.
    ///
    /// - Parameter path: where the schema stands in its descriptor, for errors: `operations.scan.arguments`.
    /// - Throws: `descriptor.invalid` with details `{path, key, value, rule}`.
    public init(_ json: JSON, at path: String = "") throws(HostError) {
        self.json = json
        rule = try SchemaReader.read(json, at: path)
        let properties = json["properties"]?.members ?? []
        propertyNames = properties.map(\.key)
        defaults = properties.compactMap { property in
            property.value["default"].map { value in
                let text = JSON.object([.init(property.key, value)]).bytes
                return Default(name: property.key, text: Array(text.dropFirst().dropLast()))
            }
        }
    }

    /// Arguments with the defaults of what they leave out, added to the text as it is.
    ///
    /// - Parameter value: the same arguments, parsed.
    func filled(_ arguments: Payload, _ value: JSON) -> Payload {
        guard !defaults.isEmpty, let members = value.members else { return arguments }
        var json: [UInt8] = []
        var isFirst = members.isEmpty
        for missing in defaults where !members.contains(where: { JSON.same($0.key, missing.name) }) {
            if json.isEmpty {
                json.reserveCapacity(arguments.json.count + 64)
                json += arguments.json
                while json.popLast() != UInt8(ascii: "}") {}
            }
            if !isFirst { json.append(UInt8(ascii: ",")) }
            isFirst = false
            json += missing.text
        }
        guard !json.isEmpty else { return arguments }
        json.append(UInt8(ascii: "}"))
        return Payload(json: json, blobs: arguments.blobs)
    }

    /// Checks arguments.
    ///
    /// - Throws: `host.invalid_argument` with details `{path, expected, got}`, for an unknown name that resembles a
    ///   known one also `suggestion`.
    public func check(_ value: JSON) throws(HostError) {
        do throws(SchemaMismatch) { try rule.check(value) } catch { throw error.invalidArgument }
    }

    /// What does not fit in `value`, nil where all does.
    ///
    /// For results and events, whose errors are not the caller's.
    public func mismatch(in value: JSON) -> SchemaMismatch? {
        do throws(SchemaMismatch) { try rule.check(value) } catch { return error }
        return nil
    }
}
