import ApsuleKit
import Glibc
import HostCore

/// `apsule docs`: the reference of this host's operations.
enum DocsCommand {
    static let options = [
        Command.Option("output", value: "DIR", "Writes Markdown there: a page a family, an index, the host's errors."),
        Command.Option("man", "Prints the manual page of apsule itself, for man."),
    ]

    static func run(_ arguments: ArraySlice<String>) throws(HostError) -> ExitCode {
        let options = try Options(arguments, Self.options)
        if options.has("man") {
            if options.isJSON {
                Output.line(JSON.object([.init("man", .string(ManualPage.text))]).text)
            } else {
                Output.text(ManualPage.text)
            }
            return .ok
        }
        let host = try Host(stateOverride: options["state"], plugins: options.all("plugins"))
        let descriptors = ProjectTypes.callable(host.registry.snapshot)
        if let folder = options["output"] {
            return try write(ReferenceBook.pages(descriptors), folder, json: options.isJSON)
        }
        guard let name = options.words.first else {
            if options.isJSON {
                let families = descriptors.map { family -> JSON in
                    [
                        "family": .string(family.family), "version": .string(family.version),
                        "summary": .string(family.summary),
                        "operations": .array(family.operations.map { .string($0.fullName) }),
                    ]
                }
                Output.line(JSON.object([.init("families", .array(families))]).text)
                return .ok
            }
            Output.table(descriptors.map { ($0.family, SafeText.escape($0.summary, limit: 500)) })
            Output.line("\napsule docs FAMILY shows one; --output DIR writes them all.")
            return .ok
        }
        guard show(name, descriptors, json: options.isJSON) else {
            let known = descriptors.map(\.family) + descriptors.flatMap { $0.operations.map(\.fullName) }
            let nearest = Suggestion.nearest(to: name, among: known).map { " Did you mean \($0)?" } ?? ""
            throw HostError("usage.invalid", "There is no family \(SafeText.escape(name)).\(nearest)")
        }
        return .ok
    }

    /// Shows a family or an operation; false where there is none of that name.
    static func show(_ name: String, _ descriptors: [Descriptor], json: Bool) -> Bool {
        let family = String(name.prefix { $0 != "." })
        guard let descriptor = descriptors.first(where: { $0.family == family }) else { return false }
        let operation = descriptor.operation(String(name.dropFirst(family.count + 1)))
        guard name == family || operation != nil else { return false }
        if json {
            Output.line((operation?.json ?? descriptor.json).text)
            return true
        }
        let page = FamilyPage(descriptor, errors: ErrorCatalogue(descriptors: descriptors))
        TerminalDocument.show(operation.map(page.document(of:)) ?? page.document)
        return true
    }

    private static func write(
        _ pages: [(name: String, text: String)], _ folder: String, json: Bool
    ) throws(HostError) -> ExitCode {
        if mkdir(folder, 0o755) != 0, errno != EEXIST {
            throw HostError("host.file_error", "\(folder): \(String(cString: strerror(errno)))")
        }
        for page in pages { try AtomicFile.write("\(folder)/\(page.name)", Array(page.text.utf8)) }
        if json {
            Output.line(JSON.object([.init("written", .array(pages.map { .string($0.name) }))]).text)
        } else {
            Output.line("Wrote \(pages.count) pages to \(SafeText.escape(folder, limit: 1_000)).")
        }
        return .ok
    }
}
