import ApsuleKit
import HostCore

/// `apsule permissions list|grant|revoke|explain`.
enum PermissionsCommand {
    static let options = [
        Command.Option("project", value: "DIR", "explain: whose permissions; the command line's own without it."),
        Command.Option("expires", value: "2h", "grant: for how long; for good without it."),
        Command.Option("allow", value: "PERMISSION", "explain: as if the flag were given."),
    ]

    static func run(_ arguments: ArraySlice<String>) throws(HostError) -> ExitCode {
        let options = try Options(arguments, Self.options)
        let host = try Host(stateOverride: options["state"], plugins: options.all("plugins"))
        switch try options.word(0, "list, grant, revoke or explain") {
        case "list": return try list(host, options)
        case "grant": return try grant(host, options)
        case "revoke": return try revoke(host, options)
        case "explain": return try explain(host, options)
        case let other:
            throw HostError("usage.invalid", "There is no permissions \(other): list, grant, revoke, explain.")
        }
    }

    private static func list(_ host: Host, _ options: Options) throws(HostError) -> ExitCode {
        let grants = try GrantStore(state: try host.paths.state).grants()
        if options.isJSON {
            let list = grants.map { grant -> JSON in
                [
                    "project": .string(grant.identity.id), "origin": .string(grant.identity.origin),
                    "permission": .string(grant.permission), "state": grant.isAllowed ? "granted" : "denied",
                    "declaration": grant.declaration.json, "created": .int(grant.created),
                    "expires": grant.expires.map { .int($0) } ?? .null,
                ]
            }
            Output.line(JSON.array(list).text)
            return .ok
        }
        if grants.isEmpty { Output.line("No project has a lasting permission.") }
        for grant in grants {
            let place = grant.identity.place
            let state = grant.isAllowed ? Output.colour("always", 32) : Output.colour("never", 31)
            Output.line("\(grant.identity.id)  \(grant.permission)  \(state)  \(SafeText.escape(place, limit: 300))")
        }
        return .ok
    }

    /// A person at the terminal says yes to it: that is the approval, which no script can give by calling this.
    private static func grant(_ host: Host, _ options: Options) throws(HostError) -> ExitCode {
        let subject = try Subjects.named(options.word(1, "PROJECT FOLDER or apsule.cli"), host)
        let permission = try known(options.word(2, "PERMISSION"), host)
        guard let declaration = subject.declarations.map({ $0[permission] }) ?? Declaration() else {
            throw HostError("permission.denied", "\(subject.identity.id) does not declare \(permission).")
        }
        let terminal = TerminalPrompter { _ in }
        let authority = try host.authority(subject, prompter: terminal)
        let expires = try options["expires"].map { text throws(HostError) in
            Clock.wall + Int64(try Duration.milliseconds(text))
        }
        try authority.grant(permission, declaration, expires: expires, confirmedAt: terminal)
        if options.isJSON {
            let report: JSON = [
                "granted": .string(permission), "project": .string(subject.identity.id),
                "origin": .string(subject.identity.origin), "expires": expires.map { .int($0) } ?? .null,
            ]
            Output.line(report.text)
        } else {
            Output.line("\(subject.identity.id) may use \(permission).")
        }
        return .ok
    }

    private static func revoke(_ host: Host, _ options: Options) throws(HostError) -> ExitCode {
        let id = try options.word(1, "PROJECT")
        let permission = options.words.count > 2 ? try known(options.words[2], host) : nil
        let count = try GrantStore(state: try host.paths.state).remove(id: id, permission: permission)
        if let audit = try? AuditLog(state: try host.paths.state) {
            audit.write(
                "revoked", ProjectIdentity(id: id, origin: "*"),
                [.init("permission", permission.map { .string($0) } ?? "*"), .init("by", "command line")])
        }
        if options.isJSON {
            Output.line(JSON.object([.init("revoked", .int(Int64(count)))]).text)
        } else {
            Output.line(count == 0 ? "There was nothing to revoke." : "Revoked \(count).")
        }
        return .ok
    }

    private static func explain(_ host: Host, _ options: Options) throws(HostError) -> ExitCode {
        let name = try options.word(1, "FAMILY.OPERATION")
        let entry = host.registry.snapshot.entry(String(name.prefix { $0 != "." }))
        guard let operation = entry?.descriptor?.operation(String(name.drop { $0 != "." }.dropFirst())) else {
            throw HostError("host.operation_unknown", "There is no operation \(name).")
        }
        let subject =
            try options["project"].map { text throws(HostError) in try Subjects.named(text, host) }
            ?? Subjects.commandLine
        let authority = try host.authority(subject, allowed: Set(options.all("allow")), prompter: NoPrompter())
        let arguments = try CallArguments.parse(options.words.dropFirst(2))
        let chain = authority.explain(Question(operation, arguments))
        if options.isJSON {
            Output.line(JSON.array(chain).text)
            return .ok
        }
        if chain.isEmpty { Output.line("\(name) needs no permission.") }
        for step in chain {
            Output.line(
                "\(step["permission"]?.stringValue ?? ""): \(step["state"]?.stringValue ?? "") (\(step["rule"]?.stringValue ?? ""))"
            )
            if let fix = step["fix"]?.stringValue { Output.line("  fix: \(fix)") }
        }
        return .ok
    }

    private static func known(_ name: String, _ host: Host) throws(HostError) -> String {
        guard host.catalogue[name] == nil else { return name }
        let nearest = Suggestion.nearest(to: name, among: host.catalogue.names).map { " Did you mean \($0)?" } ?? ""
        throw HostError("usage.invalid", "There is no permission \(name).\(nearest)")
    }
}

/// Whose permissions a command is about.
enum Subjects {
    static let commandLine = PermissionAuthority.Subject(
        identity: .commandLine, name: "The command line (apsule call)", declarations: nil)

    /// `apsule.cli`, or a project folder.
    static func named(_ name: String, _ host: Host) throws(HostError) -> PermissionAuthority.Subject {
        if name == ProjectIdentity.commandLine.id { return commandLine }
        let project = try ProjectFolder(name, catalogue: host.catalogue)
        return PermissionAuthority.Subject(
            identity: project.identity, name: project.manifest.name, declarations: project.manifest.permissions)
    }
}
