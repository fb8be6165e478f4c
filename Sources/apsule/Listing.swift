import ApsuleKit
import HostCore

/// What of a stream's events makes a table: one event that carries items with an id.
///
/// The descriptor says it: `x-columns` of the event (paths, or `{"title", "value"}`) and `x-sort` (a path, `-` before
/// it for the greatest first). Without them the first plain properties are the columns.
struct Listing {
    struct Column {
        let title: String
        let path: [String]
        let unit: String?
    }

    let event: String
    let columns: [Column]
    private let sort: (path: [String], descending: Bool)?

    /// nil where the operation is no such stream.
    init?(_ operation: OperationDescriptor) {
        let isList = operation.final?["items"]?["properties"]?["id"] != nil
        let found = operation.events.first { event in
            let hasID = event.schema["required"]?.arrayValue?.contains("id") == true
            return hasID && (event.schema["x-columns"] != nil || isList)
        }
        guard operation.kind == .stream, let found else { return nil }
        event = found.name
        let properties = found.schema["properties"]?.members ?? []
        let named = found.schema["x-columns"]?.arrayValue ?? []
        columns = named.isEmpty ? Self.plain(properties) : named.compactMap { Self.column($0, found.schema) }
        guard !columns.isEmpty else { return nil }
        let sort = found.schema["x-sort"]?.stringValue
        self.sort = sort.map { text in
            let path = text.hasPrefix("-") ? String(text.dropFirst()) : text
            return (path.split(separator: ".").map(String.init), text.hasPrefix("-"))
        }
    }

    private static func column(_ json: JSON, _ schema: JSON) -> Column? {
        guard let value = json.stringValue ?? json["value"]?.stringValue else { return nil }
        let path = value.split(separator: ".").map(String.init)
        guard let first = path.first else { return nil }
        return Column(
            title: json["title"]?.stringValue ?? first, path: path,
            unit: schema["properties"]?[first]?["x-unit"]?.stringValue)
    }

    private static func plain(_ properties: [JSON.Member]) -> [Column] {
        properties.filter { property in
            let type = property.value["type"]?.stringValue ?? ""
            return property.key != "id" && ["string", "integer", "number"].contains(type)
        }.prefix(4).map { Column(title: $0.key, path: [$0.key], unit: $0.value["x-unit"]?.stringValue) }
    }

    /// The text of a cell; what comes from elsewhere is escaped.
    func text(_ column: Column, of item: JSON) -> String {
        let values = Self.values(column.path[...], item).compactMap { value -> String? in
            value == .null ? nil : value.stringValue ?? value.text
        }
        let text = SafeText.escape(values.joined(separator: " "), limit: 200)
        return text.isEmpty || column.unit == nil ? text : "\(text) \(column.unit ?? "")"
    }

    /// Whether one item stands before another; equal ones stay as they came.
    func isBefore(_ one: JSON, _ other: JSON) -> Bool {
        guard let sort else { return false }
        let pair = [one, other].map { Self.values(sort.path[...], $0).first ?? .null }
        if let first = pair[0].doubleValue, let second = pair[1].doubleValue {
            return sort.descending ? first > second : first < second
        }
        // What has no value comes last.
        if pair[0] == .null || pair[1] == .null { return pair[1] == .null && pair[0] != .null }
        let (first, second) = (pair[0].stringValue ?? "", pair[1].stringValue ?? "")
        return sort.descending ? first > second : first < second
    }

    private static func values(_ path: ArraySlice<String>, _ json: JSON) -> [JSON] {
        if let elements = json.arrayValue { return elements.flatMap { values(path, $0) } }
        guard let key = path.first else { return [json] }
        return json[key].map { values(path.dropFirst(), $0) } ?? []
    }
}
