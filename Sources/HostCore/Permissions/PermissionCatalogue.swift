internal import ApsuleKit

/// Every permission there is: the well-known ones, and those that families define under their own name.
public struct PermissionCatalogue: Sendable {
    public struct Permission: Sendable {
        public let name: String
        /// What a person is asked: "use Bluetooth devices".
        public let title: String
        /// From the narrowest to the widest.
        public let levels: [String]
        public let scopes: [String]
    }

    private var permissions: [String: Permission] = [:]

    public subscript(name: String) -> Permission? { permissions[name] }
    public var names: [String] { permissions.keys.sorted() }

    /// The well-known permissions, and what `descriptors` add.
    public init(descriptors: [Descriptor] = []) {
        for (name, title, levels, scopes) in Self.wellKnown {
            permissions[name] = Permission(name: name, title: title, levels: levels, scopes: scopes)
        }
        for descriptor in descriptors {
            for operation in descriptor.operations {
                guard let use = operation.permission else { continue }
                // A family may define a permission only under its own name; the well-known ones keep their meaning.
                if use.name == descriptor.family, permissions[use.name] == nil {
                    permissions[use.name] = Permission(
                        name: use.name, title: descriptor.summary, levels: [], scopes: use.scopes)
                }
            }
        }
    }

    private static let wellKnown: [(String, String, [String], [String])] = [
        ("authentication", "sign you in with passkeys", [], []),
        ("biometrics", "check your fingerprint or face", [], []),
        ("bluetooth", "find and use Bluetooth devices", [], ["services", "devices"]),
        ("calendar", "read and change your calendar", ["read", "write"], []),
        ("camera", "use the camera", [], []),
        ("contacts", "read and change your contacts", ["read", "write"], []),
        ("health", "read and change health data", ["read", "write"], ["types"]),
        ("home", "control home accessories", [], []),
        ("liveActivities", "show live activities", [], []),
        ("localNetwork", "find and use devices in the local network", [], ["services", "hosts"]),
        ("location", "know where this device is", ["whenInUse", "always"], []),
        ("microphone", "record sound", [], []),
        ("motion", "read motion sensors", [], []),
        ("music", "use your music library and player", ["read", "write"], []),
        ("nearbyInteraction", "measure distances to devices near by", [], []),
        ("network", "use the Internet", [], ["hosts"]),
        ("nfc", "read and write NFC tags", [], []),
        ("notifications", "show notifications", [], []),
        ("photos", "read and change your pictures", ["read", "write"], []),
        ("push", "receive pushed events", [], []),
        ("reminders", "read and change your reminders", ["read", "write"], []),
        ("speech", "recognise and speak", [], []),
        ("spotlight", "publish items to search", [], []),
        ("storage", "keep data on this device", [], []),
        ("translation", "translate text", [], []),
        ("wallet", "add passes", [], []),
        ("weather", "get the weather", [], []),
    ]
}
