import ApsuleKit
import HostCore

/// What a word of the command line may become.
struct Completer {
    struct Candidate {
        let value: String
        var meaning = ""
    }

    private let words: [String]
    private let current: String

    /// - Parameter words: what stands after `apsule`; the last one is to be completed.
    init(_ words: [String]) {
        self.words = words
        current = words.last ?? ""
    }

    var candidates: [Candidate] {
        guard words.count > 1 else {
            return fitting(Apsule.commands.map { Candidate(value: $0.name, meaning: $0.summary) })
        }
        guard let command = Apsule.commands.first(where: { $0.name == words[0] }) else { return [] }
        if words.count > 2, let option = Self.option(words[words.count - 2], command), option.value != nil {
            return fitting(values(of: option))
        }
        if current.hasPrefix("--") { return options(of: command) }
        return fitting(plain(command))
    }

    private func fitting(_ all: [Candidate]) -> [Candidate] {
        all.filter { $0.value.hasPrefix(current) || $0.value == ":folder" || $0.value == ":file" }
    }

    // MARK: - Options

    private static func option(_ word: String, _ command: Command) -> Command.Option? {
        guard word.hasPrefix("--"), !word.contains("=") else { return nil }
        return command.allOptions.first { "--\($0.name)" == word }
    }

    private func options(of command: Command) -> [Candidate] {
        if let equals = current.firstIndex(of: "="), let option = Self.option(String(current[..<equals]), command) {
            return fitting(
                values(of: option).map { Candidate(value: "--\(option.name)=\($0.value)", meaning: $0.meaning) })
        }
        return fitting(command.allOptions.map { Candidate(value: "--\($0.name)", meaning: $0.summary) })
    }

    private func values(of option: Command.Option) -> [Candidate] {
        switch option.value {
        case "DIR": [Candidate(value: ":folder")]
        case "FILE": [Candidate(value: ":file")]
        case "PERMISSION": permissions
        default: []
        }
    }

    // MARK: - Words

    /// The words before the current one that are neither options nor their values.
    private func before(_ command: Command) -> [String] {
        var plain: [String] = []
        var isValue = false
        for word in words.dropFirst().dropLast() {
            if isValue {
                isValue = false
            } else if word.hasPrefix("--") {
                isValue = Self.option(word, command)?.value != nil
            } else {
                plain.append(word)
            }
        }
        return plain
    }

    private func plain(_ command: Command) -> [Candidate] {
        var before = before(command)[...]
        var kinds = command.words
        if case .verbs(let verbs) = kinds.first, let word = before.first {
            kinds = verbs.first { $0.name == word }?.words ?? []
            before = before.dropFirst()
        }
        // The last kind repeats.
        guard let kind = before.count < kinds.count ? kinds[before.count] : kinds.last else { return [] }
        return candidates(kind, before: before)
    }

    private func candidates(_ kind: Command.Word, before: ArraySlice<String>) -> [Candidate] {
        switch kind {
        case .folder: [Candidate(value: ":folder")]
        case .file: [Candidate(value: ":file")]
        case .operation: operations
        case .argument: before.first.map(arguments) ?? []
        case .permission: permissions
        case .project: projects + [Candidate(value: ":folder")]
        case .topic: Apsule.commands.map { Candidate(value: $0.name, meaning: $0.summary) } + pages + codes
        case .page: pages
        case .query: query
        case .family: families
        case .verbs(let verbs): verbs.map { Candidate(value: $0.name) }
        }
    }

    // MARK: - What the host knows

    private var host: Host? { try? Host(plugins: []) }
    private var descriptors: [Descriptor] { host.map { ProjectTypes.callable($0.registry.snapshot) } ?? [] }

    private var families: [Candidate] { descriptors.map { Candidate(value: $0.family, meaning: $0.summary) } }

    private var operations: [Candidate] {
        descriptors.flatMap(\.operations).map { Candidate(value: $0.fullName, meaning: $0.summary) }
    }

    private var pages: [Candidate] { current.contains(".") ? operations : families }

    private var codes: [Candidate] {
        guard current.contains(".") else { return [] }
        let errors = ErrorCatalogue(descriptors: descriptors)
        return errors.codes.compactMap { errors[$0] }.map { Candidate(value: $0.code, meaning: $0.text.meaning) }
    }

    private var permissions: [Candidate] {
        guard let catalogue = host?.catalogue else { return [] }
        return catalogue.names.map { Candidate(value: $0, meaning: catalogue[$0]?.title ?? "") }
    }

    private var projects: [Candidate] {
        var ids = ["apsule.cli"]
        // Completing must not make the state folder.
        if let state = try? host?.paths.state, FileReader.exists("\(state)/grants.db"),
            let store = try? GrantStore(state: state)
        {
            ids += ((try? store.grants()) ?? []).map(\.identity.id)
        }
        return Set(ids).sorted().map { Candidate(value: $0) }
    }

    /// `name=`, `name:=`, and after them what an enumeration allows.
    private func arguments(_ name: String) -> [Candidate] {
        let descriptor = descriptors.first { $0.family == name.prefix { $0 != "." } }
        let operation = descriptor?.operation(String(name.drop { $0 != "." }.dropFirst()))
        guard let properties = operation?.arguments.json["properties"]?.members else { return [] }
        return properties.flatMap { member -> [Candidate] in
            let isText = SchemaText.isText(member.value)
            let start = member.key + (isText ? "=" : ":=")
            let meaning = member.value["description"]?.stringValue ?? ""
            guard current.hasPrefix(start) else { return [Candidate(value: start, meaning: meaning)] }
            return SchemaText.values(member.value).map { Candidate(value: start + $0) }
        }
    }

    private var query: [Candidate] {
        let keys = [
            "family:": descriptors.map(\.family), "permission:": host?.catalogue.names ?? [],
            "stream:": ["true", "false"],
            "raw:": ["true", "false"],
            "status:": ["ready", "unprobed", "unavailable", "quarantined", "invalid", "crashed"],
        ]
        guard let key = keys.first(where: { current.hasPrefix($0.key) }) else {
            return keys.keys.sorted().map { Candidate(value: $0) }
        }
        return key.value.map { Candidate(value: key.key + $0) }
    }
}

/// How an argument is written as a word of the command line.
enum SchemaText {
    /// Text is written as it is, everything else as JSON after `:=`.
    static func isText(_ schema: JSON) -> Bool {
        let types = schema["type"].map { $0.arrayValue ?? [$0] }
        if types?.contains("string") == true { return true }
        return types == nil
            && (schema["enum"]?.arrayValue?.allSatisfy { $0.stringValue != nil }
                ?? (schema["const"]?.stringValue != nil))
    }

    /// What may be given, where that is a short list.
    static func values(_ schema: JSON) -> [String] {
        if schema["type"] == "boolean" { return ["true", "false"] }
        let values = schema["enum"]?.arrayValue ?? schema["const"].map { [$0] } ?? []
        return isText(schema) ? values.compactMap(\.stringValue) : values.map(\.text)
    }
}
