internal import ApsuleKit

/// What `host.permissions` asks; the parent answers it, a worker through its socket.
public protocol PermissionDesk: AnyObject, Sendable {
    /// Permission and state of everything that the project declares.
    func summary(_ completion: @escaping @Sendable ([(String, String)]) -> Void)
    /// `granted`, `denied`, `prompt` or `undeclared`.
    func status(_ permission: String, _ completion: @escaping @Sendable (String) -> Void)
    /// Asks a person where nothing has decided yet, and gives the state after that.
    func request(_ permission: String, _ completion: @escaping @Sendable (String) -> Void)
}

/// `host.permissions`: introspection, and asking on purpose.
///
/// No operation of it grants anything by itself.
public enum PermissionsFamily {
    public static func provider(desk: any PermissionDesk, catalogue: PermissionCatalogue) -> HostFamilyProvider {
        @Sendable func known(_ call: HostCall) throws(HostError) -> String {
            let name = call.arguments["name"]?.stringValue ?? ""
            guard catalogue[name] == nil else { return name }
            let nearest = Suggestion.nearest(to: name, among: catalogue.names)
            throw HostError(
                "permissions.unknown", "There is no permission \(name).\(nearest.map { " Did you mean \($0)?" } ?? "")",
                details: ["suggestion": nearest.map { .string($0) } ?? .null])
        }
        return HostFamilyProvider(calls: [
            (
                "summary",
                { call in
                    desk.summary { states in call.answer(.object(states.map { .init($0.0, .string($0.1)) })) }
                }
            ),
            (
                "status",
                { call throws(HostError) in
                    let name = try known(call)
                    desk.status(name) { call.answer(["name": .string(name), "state": .string($0)]) }
                }
            ),
            (
                "request",
                { call throws(HostError) in
                    let name = try known(call)
                    desk.request(name) { call.answer(["name": .string(name), "state": .string($0)]) }
                }
            ),
            (
                "openSettings",
                { call throws(HostError) in
                    throw HostError(
                        "permissions.unsupported", "Linux has no settings page for this host.",
                        details: [
                            "reason": "Permissions are kept by the host itself.",
                            "fix": "apsule permissions list, apsule permissions revoke PROJECT PERMISSION",
                        ])
                }
            ),
        ])
    }
}

extension PermissionAuthority: PermissionDesk {
    public func summary(_ completion: @escaping @Sendable ([(String, String)]) -> Void) {
        completion((subject.declarations ?? [:]).keys.sorted().map { ($0, status($0)) })
    }

    public func status(_ permission: String, _ completion: @escaping @Sendable (String) -> Void) {
        completion(status(permission))
    }

    public func request(_ permission: String, _ completion: @escaping @Sendable (String) -> Void) {
        let question = Question(operation: "permissions.request", needs: [Need(permission: permission)])
        // An answer "once" is used up by the question itself: the state stays `prompt`, and the next call asks again.
        decide(question) { [self] _ in completion(status(permission)) }
    }
}
