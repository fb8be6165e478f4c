internal import ApsuleKit

/// The reference of one family, from its descriptor alone.
public struct FamilyPage: Sendable {
    private let descriptor: Descriptor
    private let errors: ErrorCatalogue

    public init(_ descriptor: Descriptor, errors: ErrorCatalogue) {
        (self.descriptor, self.errors) = (descriptor, errors)
    }

    /// The whole page.
    ///
    /// Wrappers come before raw requests to a provider.
    public var document: Document {
        var page = Document()
        page.add(.heading(1, .code(descriptor.family)))
        page.add(.text(Document.Inline(descriptor.summary)))
        page.add(.text(Document.Inline(descriptor.json["description"]?.stringValue ?? "")))
        page.add(.text(facts))
        let wrappers = descriptor.operations.filter { $0.raw == nil }
        let raw = descriptor.operations.filter { $0.raw != nil }
        page.add(.table(["operation", "permission", "what it does"], wrappers.map(row)))
        if !raw.isEmpty {
            page.add(.heading(2, "Raw requests"))
            page.add(
                .text("Requests to the provider as its own documentation has them; the host adds the credentials."))
            page.add(.table(["operation", "permission", "what it does"], raw.map(row)))
        }
        for operation in wrappers + raw { add(operation, to: &page, level: 2) }
        let codes = errors.codes.compactMap { errors[$0] }.filter {
            $0.source == descriptor.family && !$0.operations.isEmpty
        }
        if !codes.isEmpty {
            page.add(.heading(2, "Errors"))
            page.add(
                .table(
                    ["code", "meaning", "what helps"],
                    codes.map {
                        [.code($0.code), Document.Inline($0.text.meaning), Document.Inline($0.text.fix ?? "")]
                    }))
        }
        return page
    }

    /// One operation by itself.
    public func document(of operation: OperationDescriptor) -> Document {
        var page = Document()
        add(operation, to: &page, level: 1)
        let codes = operation.errors.compactMap { errors[$0] }
        page.add(.table(["error", "meaning"], codes.map { [.code($0.code), Document.Inline($0.text.meaning)] }))
        return page
    }

    private var facts: Document.Inline {
        var parts: [Document.Inline] = [Document.Inline("Version \(descriptor.version).")]
        if let name = descriptor.backing?["name"]?.stringValue {
            let source = descriptor.backing?["source"]?.stringValue
            parts.append("Backed by " + (source.map { .link(name, to: $0) } ?? Document.Inline(name)) + ".")
        }
        if let permission = descriptor.permission { parts.append("Permission: " + .code(permission) + ".") }
        if descriptor.process == "own" { parts.append("Runs in a process of its own.") }
        return parts.dropFirst().reduce(parts[0]) { $0 + " " + $1 }
    }

    private func row(_ operation: OperationDescriptor) -> [Document.Inline] {
        [
            .code(operation.name + (operation.kind == .stream ? " (stream)" : "")),
            Document.Inline(OperationFacts.permissions(operation)), Document.Inline(operation.summary),
        ]
    }

    // MARK: - One operation

    private func add(_ operation: OperationDescriptor, to page: inout Document, level: Int) {
        page.add(.heading(level, .code(operation.fullName)))
        page.add(.text(Document.Inline(operation.summary)))
        page.add(.text(Document.Inline(operation.json["description"]?.stringValue ?? "")))
        page.add(.code(Self.signature(operation), language: "js"))
        page.add(.text(Document.Inline(OperationFacts.line(operation))))
        let arguments = operation.arguments.json
        if arguments["properties"]?.members?.isEmpty == false {
            page.add(.table(["argument", "type", "meaning"], SchemaRows.rows(arguments, mark: true)))
        }
        if operation.kind == .stream {
            addStream(operation, to: &page)
        } else if let result = operation.result, result["type"] != "null" {
            page.add(.table(["result", "type", "meaning"], SchemaRows.rows(result, mark: false)))
        }
        if let raw = operation.raw { add(raw: raw, to: &page) }
        if level > 1, !operation.errors.isEmpty { page.add(.text("Errors: " + .list(operation.errors) + ".")) }
        for example in operation.json["examples"]?.arrayValue ?? [] {
            page.add(.code(example.stringValue ?? example.pretty(), language: "js"))
        }
    }

    private func addStream(_ operation: OperationDescriptor, to page: inout Document) {
        for (name, schema) in operation.events {
            let rows = SchemaRows.rows(schema, mark: false)
            page.add(
                .table(
                    ["event \(name)", "type", "meaning"],
                    rows.isEmpty ? [["", "", "Without members of its own."]] : rows))
        }
        if let final = operation.final {
            page.add(.table(["at the end", "type", "meaning"], SchemaRows.rows(final, mark: false)))
        }
        if let handle = operation.handle, !handle.methods.isEmpty {
            page.add(
                .table(
                    ["method of the handle", "is"],
                    handle.methods.map { [.code($0.name), .code($0.operation)] }))
        }
        page.add(
            .text(
                operation.delivery == .latest
                    ? "Where events are not taken in time, the oldest are dropped, and an event dropped says how many."
                    : "No event is lost: the source waits until events are taken."))
    }

    private func add(raw: JSON, to page: inout Document) {
        let members: [[Document.Inline]] = (raw.members ?? []).map { member in
            let values =
                member.value.arrayValue?.compactMap(\.stringValue) ?? [member.value.stringValue ?? member.value.text]
            return [.code(member.key), .list(values)]
        }
        page.add(.table(["raw request", "allowed"], members))
    }

    /// As it is called: `host.storage.set(key, { value })`.
    static func signature(_ operation: OperationDescriptor) -> String {
        let schema = operation.arguments.json
        let required = Set(schema["required"]?.arrayValue?.compactMap(\.stringValue) ?? [])
        var parts = operation.positional
        let options = (schema["properties"]?.members ?? []).map(\.key).filter { !operation.positional.contains($0) }
        if !options.isEmpty {
            parts.append("{ " + options.map { $0 + (required.contains($0) ? "" : "?") }.joined(separator: ", ") + " }")
        }
        if operation.kind == .stream { parts.append("onEvent?") }
        return "host.\(operation.fullName)(\(parts.joined(separator: ", ")))"
    }
}
