import ApsuleKit
import HostCore
import Synchronization

/// The items of a stream as a table that is kept up to date at the foot of the terminal.
final class LiveTable: Sendable {
    private let listing: Listing
    private let region: LiveRegion
    private let begin = Clock.now
    private let state = Mutex(State())

    private struct Row {
        var item: JSON
        var seen: Int64
        /// The last event that was none about the item's own values: that it is gone.
        var note: String?
    }

    private struct State {
        var rows: [Row] = []
        var places: [String: Int] = [:]
        var isOver = false
    }

    init(_ listing: Listing, _ region: LiveRegion) { (self.listing, self.region) = (listing, region) }

    /// Draws now, and then four times a second: the window may have another size by then.
    func start() {
        HostCore.Thread.start(name: "apsule.table") { [weak self] in
            while let self, !self.state.withLock({ $0.isOver }) {
                self.draw()
                Output.pause(milliseconds: 250)
            }
        }
    }

    /// Takes an event in; false where it is about no item, and is to be printed.
    func take(_ name: String, _ value: JSON) -> Bool {
        guard let id = value["id"]?.stringValue else { return false }
        return state.withLock { state in
            if let place = state.places[id] {
                state.rows[place].seen = Clock.now
                state.rows[place].note = name == listing.event ? nil : name
                if name == listing.event { state.rows[place].item = value }
                return true
            }
            guard name == listing.event else { return false }
            state.places[id] = state.rows.count
            state.rows.append(Row(item: value, seen: Clock.now))
            return true
        }
    }

    func finish() {
        draw()
        state.withLock { $0.isOver = true }
        region.finish(keeping: true)
    }

    private func draw() {
        let size = region.size
        let (columns, now) = (listing.columns, Clock.now)
        var rows = state.withLock { $0.rows }
        let count = rows.count
        rows = rows.enumerated().sorted { one, other in
            if listing.isBefore(one.element.item, other.element.item) { return true }
            return !listing.isBefore(other.element.item, one.element.item) && one.offset < other.offset
        }.map(\.element)
        let room = max(1, size.rows - 3)
        let shown = rows.prefix(rows.count > room ? room - 1 : room)
        var table = [columns.map { SafeText.escape($0.title) } + ["last seen"]]
        for row in shown {
            let ago = (now - row.seen) / 1_000
            let seen = row.note.map { SafeText.escape($0) } ?? (ago == 0 ? "now" : "\(ago) s ago")
            table.append(columns.map { listing.text($0, of: row.item) } + [seen])
        }
        let widths = Self.widths(table, size.columns)
        var lines = table.enumerated().map { index, cells -> (text: String, columns: Int) in
            let text = zip(cells, widths).map { Output.padded(Output.cut($0, $1), $1) }.joined(separator: "  ")
            let isDim = index > 0 && shown[index - 1].note != nil
            let styled = index == 0 ? Output.bold(text) : isDim ? Output.dim(text) : text
            return (styled, Output.width(of: text))
        }
        if count > shown.count { lines.append(Self.line("… and \(count - shown.count) more", size.columns)) }
        lines.append(Self.line("\(count) found, \((now - begin) / 1_000) s", size.columns))
        region.draw(lines)
    }

    private static func line(_ text: String, _ width: Int) -> (text: String, columns: Int) {
        let text = Output.cut(text, width - 1)
        return (Output.dim(text), Output.width(of: text))
    }

    /// As wide as the cells are; where that is too much, the widest give way.
    private static func widths(_ table: [[String]], _ available: Int) -> [Int] {
        guard let head = table.first else { return [] }
        var widths = head.indices.map { column in table.map { Output.width(of: $0[column]) }.max() ?? 0 }
        var excess = widths.reduce(0, +) + 2 * (widths.count - 1) - max(available - 1, widths.count * 3)
        while excess > 0, let widest = widths.indices.max(by: { widths[$0] < widths[$1] }), widths[widest] > 1 {
            widths[widest] -= 1
            excess -= 1
        }
        return widths
    }
}

/// Says on a terminal how long a call has been running, once that is more than a moment.
final class ElapsedLine: Sendable {
    private let region: LiveRegion
    private let isOver = Mutex(false)

    init(_ operation: String, _ region: LiveRegion) {
        self.region = region
        let begin = Clock.now
        HostCore.Thread.start(name: "apsule.elapsed") { [weak self] in
            while let self, !self.isOver.withLock({ $0 }) {
                let elapsed = (Clock.now - begin) / 1_000
                let text = Output.cut("\(SafeText.escape(operation)) … \(elapsed) s", region.size.columns - 1)
                if elapsed > 0 { region.draw([(text, Output.width(of: text))]) }
                Output.pause(milliseconds: 250)
            }
        }
    }

    func finish() {
        isOver.withLock { $0 = true }
        region.finish(keeping: false)
    }
}
