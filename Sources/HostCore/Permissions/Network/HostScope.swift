/// Whether a place is in a scope of hosts.
///
/// A value is a place (`HostPattern`), or a place, a space and the address that it resolved to: what a plugin asks about
/// before it connects, so that no name leads where an address would not be allowed.
enum HostScope {
    /// Why the value is outside, or nil where it is in the scope.
    ///
    /// - Parameters:
    ///   - allowed: the entries; nil where the scope is not limited.
    ///   - isLocal: it is the permission for the local network, which needs no entry for the addresses there.
    static func refusal(_ value: String, allowed: [String]?, isLocal: Bool) -> String? {
        let parts = value.split(separator: " ", maxSplits: 1).map(String.init)
        let shown = SafeText.escape(value)
        guard let first = parts.first, let place = HostPattern(place: first) else {
            return "\(shown) names no host that can be checked."
        }
        let entries = allowed?.compactMap(HostPattern.init(entry:))
        if let entries, !entries.contains(where: { $0.covers(place) }) {
            return "\(shown) is outside the declared hosts."
        }
        // The host itself, where it is an address or a name of this machine, and what it resolved to.
        var kinds = [(place, place.kind)]
        if parts.count > 1 {
            guard let address = NetworkAddress(v6: parts[1]) ?? NetworkAddress(v4: parts[1]) else {
                return "\(shown) names no address that can be checked."
            }
            kinds.append((place.at(address), address.kind))
        }
        for (target, kind) in kinds where !needsNoEntry(kind, isLocal: isLocal) {
            let isNamed = (entries ?? []).contains { entry in
                if entry.isWildcard { return false }
                return entry.covers(target) || kind == .loopback && place.kind == .loopback && entry.covers(place)
            }
            if isNamed { continue }
            let what = kind == .loopback ? "this device itself" : "a private network"
            return "\(shown) leads to \(what), which only an entry for exactly that address allows."
        }
        return nil
    }

    static func needsNoEntry(_ kind: NetworkAddress.Kind, isLocal: Bool) -> Bool {
        kind == .global || isLocal && kind == .local
    }

    /// What is wrong with an entry, or nil.
    static func problem(_ entry: String) -> String? {
        HostPattern(entry: entry) == nil
            ? "must hold hosts such as example.com, *.example.com, https://example.com or 192.168.1.5:8080" : nil
    }
}

extension HostPattern {
    /// The same scheme and port at an address.
    fileprivate func at(_ address: NetworkAddress) -> HostPattern {
        HostPattern(scheme: scheme, host: .address(address), isWildcard: false, port: port)
    }

    private init(scheme: String?, host: Host, isWildcard: Bool, port: Int?) {
        (self.scheme, self.host, self.isWildcard, self.port) = (scheme, host, isWildcard, port)
    }
}
