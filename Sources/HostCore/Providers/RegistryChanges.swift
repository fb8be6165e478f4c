public import ApsuleKit

/// What stays of one state of the registry in the next, and what a worker is told of it.
extension Registry.Snapshot {
    /// The next state: what was read anew, with what is known of plugins whose file has not changed.
    ///
    /// - Parameter unfinished: files that are being written: of them what was before holds.
    func carried(into read: [Registry.Entry], except unfinished: Set<String>) -> Registry.Snapshot {
        var before: [String: Registry.Entry] = [:]
        for entry in entries where !entry.path.isEmpty { before[entry.path] = entry }
        let next = read.compactMap { entry -> Registry.Entry? in
            let old = before[entry.path]
            if unfinished.contains(entry.path) { return old }
            guard let old, entry.isCallable, old.descriptor != nil, old.stamp == entry.stamp else { return entry }
            var entry = entry
            (entry.status, entry.error) = (old.status, old.error)
            return entry
        }
        return Registry.Snapshot(next)
    }

    func isSame(as other: Registry.Snapshot) -> Bool {
        entries.count == other.entries.count
            && zip(entries, other.entries).allSatisfy {
                $0.family == $1.family && $0.path == $1.path && $0.stamp == $1.stamp && $0.status == $1.status
                    && $0.error?.code == $1.error?.code
            }
    }

    /// The plugins of others, for `Registry.follow`.
    public var foreign: JSON { .array(entries.filter { $0.provider == "third-party" }.map(\.json)) }
}

extension Registry.Entry {
    var json: JSON {
        var json: JSON = [
            "family": .string(family), "provider": .string(provider), "path": .string(path),
            "status": .string(status.rawValue),
        ]
        json.set("stamp", stamp.map { .string($0) })
        json.set("error", error?.json)
        json.set("descriptor", descriptor?.json)
        return json
    }

    /// Reads what `json` wrote.
    init?(json: JSON) {
        guard let family = json["family"]?.stringValue, let path = json["path"]?.stringValue,
            let status = json["status"]?.stringValue.flatMap(Status.init)
        else { return nil }
        self.init(
            family: family, provider: "third-party", path: path,
            descriptor: json["descriptor"].flatMap { try? Descriptor($0, file: path) }, status: status,
            error: json["error"].map { HostError(json: $0, fallback: "plugin.not_readable") },
            stamp: json["stamp"]?.stringValue)
    }
}
