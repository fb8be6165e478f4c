/// The nearest known name to one that is not known, for "did you mean".
public enum Suggestion {
    /// - Returns: the candidate within a third of the name's length in edits, or nil.
    public static func nearest(to name: String, among candidates: some Sequence<String>) -> String? {
        let wanted = Array(name.lowercased().unicodeScalars.prefix(64))
        let limit = max(1, (wanted.count + 2) / 3)
        var best: (name: String, distance: Int)?
        for candidate in candidates {
            let distance = distance(wanted, Array(candidate.lowercased().unicodeScalars.prefix(64)))
            if distance <= limit, distance < best?.distance ?? .max { best = (candidate, distance) }
        }
        return best?.name
    }

    /// Optimal string alignment: insertions, deletions, substitutions and swaps of neighbours.
    private static func distance(_ a: [Unicode.Scalar], _ b: [Unicode.Scalar]) -> Int {
        var older: [Int] = []
        var previous = Array(0...b.count)
        for (i, left) in a.enumerated() {
            var current = [i + 1]
            for (j, right) in b.enumerated() {
                var cost = min(previous[j] + (left == right ? 0 : 1), previous[j + 1] + 1, current[j] + 1)
                if i > 0, j > 0, left == b[j - 1], a[i - 1] == right { cost = min(cost, older[j - 1] + 1) }
                current.append(cost)
            }
            (older, previous) = (previous, current)
        }
        return previous[b.count]
    }
}
