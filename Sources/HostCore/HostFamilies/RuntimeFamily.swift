internal import ApsuleKit
internal import Synchronization

/// `host.runtime`: what this host can do, answered from the registry.
public enum RuntimeFamily {
    public static func provider(registry: Registry) -> HostFamilyProvider {
        let watchers = Watchers(registry)
        return HostFamilyProvider(
            calls: [
                (
                    "discover",
                    { call throws(HostError) in
                        let query = try DiscoveryQuery(call.arguments["query"]?.stringValue ?? "")
                        call.answer(Discovery.report(registry.snapshot, query: query))
                    }
                ),
                (
                    "supports",
                    { call throws(HostError) in
                        let name = call.arguments["operation"]?.stringValue ?? ""
                        call.answer(.bool(Discovery.supports(registry.snapshot, name)))
                    }
                ),
            ],
            streams: [
                (
                    "watch",
                    { call throws(HostError) in
                        call.answer(["watchId": "runtime"])
                        return watchers.add(call.sink)
                    }
                )
            ])
    }

    /// Tells every watching stream which families changed.
    private final class Watchers: Sendable {
        private let state: Mutex<(sinks: [Int: any CallSink], next: Int, last: [String: Family])>
        private let registry: Registry

        /// What is told of a family, and the state of its file, whose change is one even where the text is the same.
        private struct Family: Equatable, Sendable {
            let told: JSON
            let stamp: String?
        }

        init(_ registry: Registry) {
            self.registry = registry
            state = Mutex(([:], 0, Self.summary(registry.snapshot)))
            registry.onChange { [weak self] in self?.changed(Self.summary($0)) }
        }

        func add(_ sink: any CallSink) -> @Sendable () -> Void {
            registry.startWatching()
            let key = state.withLock { state in
                state.next += 1
                state.sinks[state.next] = sink
                return state.next
            }
            return { self.state.withLock { _ = $0.sinks.removeValue(forKey: key) } }
        }

        private static func summary(_ snapshot: Registry.Snapshot) -> [String: Family] {
            var summary: [String: Family] = [:]
            for entry in snapshot.entries {
                let told: JSON = [
                    "family": .string(entry.family), "status": .string(entry.status.rawValue),
                    "version": entry.descriptor.map { .string($0.version) } ?? .null,
                ]
                summary[entry.family + "\n" + entry.path] = Family(told: told, stamp: entry.stamp)
            }
            return summary
        }

        private func changed(_ now: [String: Family]) {
            let (sinks, last) = state.withLock { state in
                defer { state.last = now }
                return (Array(state.sinks.values), state.last)
            }
            func tell(_ name: String, _ value: JSON) {
                for sink in sinks { _ = sink.event(name, Payload(value)) }
            }
            for (key, value) in now.sorted(by: { $0.key < $1.key }) {
                if last[key] == nil {
                    tell("added", value.told)
                } else if last[key] != value {
                    tell("changed", value.told)
                }
            }
            for (key, value) in last.sorted(by: { $0.key < $1.key }) where now[key] == nil {
                tell("removed", value.told)
            }
        }
    }
}
