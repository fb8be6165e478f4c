internal import ApsuleKit

/// The declarations of one family: `namespace Bluetooth { interface Operations { … } … }`.
struct TypeScriptFamily {
    let descriptor: Descriptor
    let errors: ErrorCatalogue

    var namespace: String { TypeScriptType.name(descriptor.family) }

    var text: String {
        var text = DocComment([descriptor.summary]).text(1)
        text += "  namespace \(namespace) {\n"
        text += "    interface Operations {\n"
        text += members(of: Group(descriptor.operations), indent: 3)
        text += "    }\n"
        text += errorCodes
        for operation in descriptor.operations { text += types(of: operation) }
        return text + "  }\n"
    }

    /// What the family's own errors mean, for whoever compares codes.
    private var errorCodes: String {
        let codes = errors.codes.filter {
            errors[$0]?.source == descriptor.family && errors[$0]?.operations.isEmpty == false
        }
        guard !codes.isEmpty else { return "" }
        var text = "\n    /** The codes of this family's errors. */\n    type ErrorCode ="
        for code in codes {
            text += "\n" + DocComment([errors[code]?.text.meaning ?? ""]).text(3) + "      | \(JSON.string(code).text)"
        }
        return text + ";\n"
    }

    /// Dotted names are objects in objects.
    private struct Group {
        var operations: [OperationDescriptor] = []
        var groups: [(name: String, group: Group)] = []

        init(_ all: [OperationDescriptor], below prefix: String = "") {
            for operation in all {
                let rest = operation.name.dropFirst(prefix.count)
                guard let dot = rest.firstIndex(of: ".") else {
                    operations.append(operation)
                    continue
                }
                let name = String(rest[..<dot])
                if groups.contains(where: { $0.name == name }) { continue }
                let inner = "\(prefix)\(name)."
                groups.append((name, Group(all.filter { $0.name.hasPrefix(inner) }, below: inner)))
            }
        }
    }

    private func members(of group: Group, indent: Int) -> String {
        let space = TypeScriptType.space(indent)
        var text = ""
        for operation in group.operations {
            let name = operation.name.split(separator: ".").last.map(String.init) ?? operation.name
            text += signatures(operation, as: name, fixed: nil, indent: indent)
        }
        for (name, group) in group.groups {
            text += "\(space)readonly \(name): {\n\(members(of: group, indent: indent + 1))\(space)};\n"
        }
        return text
    }

    // MARK: - Functions

    /// All ways to call an operation.
    ///
    /// - Parameter fixed: the argument that a handle fills.
    private func signatures(_ operation: OperationDescriptor, as name: String, fixed: String?, indent: Int) -> String {
        let comment = comment(operation).text(indent)
        let parameters = Parameters(operation, fixed: fixed, options: optionsName(operation))
        let space = TypeScriptType.space(indent)
        let prefix = TypeScriptType.name(operation.name)
        guard operation.kind == .stream else {
            return "\(comment)\(space)\(name)(\(parameters.plain)): Promise<\(result(operation))>;\n"
        }
        let handle = "\(prefix)Handle"
        let awaited = operation.final == nil ? handle : final(operation)
        var text = "\(comment)\(space)\(name)(\(parameters.plain)): Apsule.Stream<\(prefix)Event, \(awaited)>;\n"
        let again = self.comment(operation, isComplete: false).text(indent)
        for list in parameters.withCallback {
            let callback =
                "onEvent: (event: \(prefix)Event | Apsule.EndEvent<\(final(operation))> | Apsule.ErrorEvent) => void"
            text += "\(again)\(space)\(name)(\((list + [callback]).joined(separator: ", "))): Promise<\(handle)>;\n"
        }
        return text
    }

    private struct Parameters {
        private var positional: [(name: String, type: String, isRequired: Bool)] = []
        private let options: String
        private var needsOptions = false

        init(_ operation: OperationDescriptor, fixed: String?, options: String) {
            let schema = operation.arguments.json
            let required = Set(schema["required"]?.arrayValue?.compactMap(\.stringValue) ?? [])
            for name in operation.positional where name != fixed {
                let type = TypeScriptType(role: .argument).text(schema["properties"]?[name] ?? [:], indent: 3)
                positional.append((name, type, required.contains(name)))
            }
            let said = Set(operation.positional).union(fixed.map { [$0] } ?? [])
            needsOptions = !required.isSubset(of: said)
            let isOpen = fixed != nil && !operation.positional.contains(fixed ?? "")
            self.options = isOpen ? "Omit<\(options), \(JSON.string(fixed ?? "").text)>" : options
        }

        /// A parameter may be left out only when all after it may be, too.
        private func list(_ count: Int, optionsRequired: Bool?) -> [String] {
            var later = optionsRequired ?? false
            var parts: [String] = []
            for parameter in positional.prefix(count).reversed() {
                later = later || parameter.isRequired
                let type = parameter.isRequired || !later ? parameter.type : "\(parameter.type) | undefined"
                parts.insert("\(Self.parameter(parameter.name))\(later ? "" : "?"): \(type)", at: 0)
            }
            if let optionsRequired { parts.append("options\(optionsRequired ? "" : "?"): \(options)") }
            return parts
        }

        var plain: String { list(positional.count, optionsRequired: needsOptions).joined(separator: ", ") }

        /// Before a callback nothing is optional: one list for each number of arguments.
        var withCallback: [[String]] {
            let least = positional.lastIndex { $0.isRequired }.map { $0 + 1 } ?? 0
            var lists: [[String]] = []
            if !needsOptions {
                for count in least...positional.count { lists.append(mandatory(count)) }
            }
            return lists + [mandatory(positional.count) + ["options: \(options)"]]
        }

        private func mandatory(_ count: Int) -> [String] {
            positional.prefix(count).map { parameter in
                let type = parameter.isRequired ? parameter.type : "\(parameter.type) | undefined"
                return "\(Self.parameter(parameter.name)): \(type)"
            }
        }

        private static let reserved: Set<String> = [
            "arguments", "await", "break", "case", "catch", "class", "const", "continue", "debugger", "default",
            "delete", "do",
            "else", "enum", "eval", "export", "extends", "false", "finally", "for", "function", "if", "implements",
            "import",
            "in", "instanceof", "interface", "let", "new", "null", "options", "onEvent", "package", "private",
            "protected",
            "public", "return", "static", "super", "switch", "this", "throw", "true", "try", "typeof", "var", "void",
            "while",
            "with", "yield",
        ]

        private static func parameter(_ name: String) -> String {
            reserved.contains(name) || TypeScriptType.key(name) != name
                ? "_" + name.filter { $0.isLetter || $0.isNumber } : name
        }
    }

    /// - Parameter isComplete: false where the same function has been explained above.
    private func comment(_ operation: OperationDescriptor, isComplete: Bool = true) -> DocComment {
        var comment = DocComment([operation.summary])
        if let description = operation.json["description"]?.stringValue { comment.add(description) }
        comment.gap()
        comment.add(OperationFacts.line(operation))
        guard isComplete, !operation.errors.isEmpty else { return comment }
        comment.gap()
        let prefix = descriptor.family + "."
        let reasons = operation.errors.map { $0.hasPrefix(prefix) ? String($0.dropFirst(prefix.count)) : $0 }
        comment.add("@throws {Apsule.HostError} \(prefix)\(reasons.joined(separator: ", "))")
        return comment
    }

    // MARK: - Types

    private func optionsName(_ operation: OperationDescriptor) -> String {
        let options = (operation.arguments.json["properties"]?.members ?? []).filter {
            !operation.positional.contains($0.key)
        }
        let isOpen = operation.arguments.json["additionalProperties"] != .bool(false)
        return options.isEmpty && !isOpen ? "Apsule.CallOptions" : "\(TypeScriptType.name(operation.name))Options"
    }

    private func result(_ operation: OperationDescriptor) -> String { named(operation, operation.result, "Result") }
    private func final(_ operation: OperationDescriptor) -> String {
        named(operation, operation.final, "Final", or: "undefined")
    }

    /// The name of a type that has one, or the type itself where it is one word.
    private func named(_ operation: OperationDescriptor, _ schema: JSON?, _ suffix: String, or missing: String = "any")
        -> String
    {
        guard let schema else { return missing }
        let type = TypeScriptType(role: .result).text(schema)
        return type.contains("{") ? "\(TypeScriptType.name(operation.name))\(suffix)" : type
    }

    private func types(of operation: OperationDescriptor) -> String {
        let prefix = TypeScriptType.name(operation.name)
        var text = ""
        if optionsName(operation) == "\(prefix)Options" {
            let members = TypeScriptType(role: .argument).members(
                operation.arguments.json, indent: 3, without: Set(operation.positional))
            text += "\n    interface \(prefix)Options extends Apsule.CallOptions {\n\(members)    }\n"
        }
        if operation.kind == .stream {
            text += streamTypes(of: operation, prefix)
        } else {
            text += type("\(prefix)Result", operation.result)
        }
        return text + type("\(prefix)Final", operation.final)
    }

    private func type(_ name: String, _ schema: JSON?) -> String {
        guard let schema else { return "" }
        let type = TypeScriptType(role: .result).text(schema, indent: 2)
        guard type.contains("{") else { return "" }
        return "\n\(DocComment(schema).text(2))    type \(name) = \(type);\n"
    }

    private func streamTypes(of operation: OperationDescriptor, _ prefix: String) -> String {
        let types = TypeScriptType(role: .result)
        var text = "\n    interface \(prefix)Handle extends Apsule.Handle<\(prefix)Event, \(final(operation))> {\n"
        text += types.members(operation.result ?? [:], indent: 3)
        for (name, target) in operation.handle?.methods ?? [] {
            let short =
                target.hasPrefix(descriptor.family + ".")
                ? String(target.dropFirst(descriptor.family.count + 1)) : target
            guard let method = descriptor.operation(short) else { continue }
            text += signatures(method, as: name, fixed: operation.handle?.id, indent: 3)
        }
        text += "    }\n"
        var names: [String] = []
        for (name, schema) in operation.events {
            let type = "\(prefix)\(TypeScriptType.name(name))Event"
            names.append(type)
            text += "\n\(DocComment(schema).text(2))    interface \(type) {\n      type: \(JSON.string(name).text);\n"
            text += eventMembers(schema, types) + "    }\n"
        }
        names.append("Apsule.StreamNotice")
        return text + "\n    type \(prefix)Event = \(names.joined(separator: " | "));\n"
    }

    /// An object's members are the event's own; another value stands under `value`.
    private func eventMembers(_ schema: JSON, _ types: TypeScriptType) -> String {
        if schema["type"] == "object" || schema["properties"] != nil {
            let members = types.members(schema, indent: 3, without: ["type"])
            return members.isEmpty && schema["additionalProperties"] != .bool(false)
                ? "      [name: string]: any;\n" : members
        }
        let isAnything = schema["type"] == nil && schema["enum"] == nil && schema["oneOf"] == nil
        return isAnything ? "      [name: string]: any;\n" : "      value: \(types.text(schema, indent: 3));\n"
    }
}

/// What an operation asks for, in one line.
enum OperationFacts {
    static func line(_ operation: OperationDescriptor) -> String {
        var parts = [permissions(operation).isEmpty ? "Needs no permission." : "Permission: \(permissions(operation))."]
        if operation.effect != .read { parts.append("Effect: \(operation.effect.rawValue).") }
        if operation.timeout.default > 0 { parts.append("Timeout: \(operation.timeout.default) ms.") }
        if let raw = operation.raw {
            parts.append("Raw requests to \(raw["provider"]?.stringValue ?? "its provider").")
        }
        return parts.joined(separator: " ")
    }

    /// `bluetooth, and storage with downloadTo`.
    static func permissions(_ operation: OperationDescriptor) -> String {
        var parts: [String] = []
        if let use = operation.permission { parts.append(use.name + (use.level.map { " (\($0))" } ?? "")) }
        for further in operation.requires {
            parts.append(further.permission + (further.when.map { " with \($0)" } ?? ""))
        }
        return parts.joined(separator: ", and ")
    }
}
