import Glibc
import HostCore
import Synchronization

/// The last lines of a terminal, drawn again in place; whatever else is printed goes above them.
final class LiveRegion: Sendable {
    private let file: Int32
    private let state = Mutex(State())

    private struct State {
        /// Columns of each line that stands there.
        var drawn: [Int] = []
        var isPaused = false
        var isOver = false
    }

    private static let hidden = "\u{1b}[?25l\u{1b}[?7l"
    private static let restored = "\u{1b}[?7h\u{1b}[?25h"

    init(_ file: Int32) { self.file = file }

    var size: (columns: Int, rows: Int) { Output.size(file) ?? (80, 24) }

    /// Draws lines that fit the width.
    func draw(_ lines: [(text: String, columns: Int)]) {
        state.withLock { state in
            guard !state.isPaused, !state.isOver else { return }
            let text = Self.hidden + home(state) + lines.map { $0.text + "\u{1b}[K\n" }.joined() + "\u{1b}[J"
            state.drawn = lines.map(\.columns)
            Output.write(file, text)
        }
    }

    /// Prints a line above what is drawn; the next drawing comes below it.
    func above(_ print: () -> Void) {
        state.withLock { state in
            erase(&state)
            print()
        }
    }

    /// While a person is asked nothing is drawn.
    func pause(_ isPaused: Bool) {
        state.withLock { state in
            if isPaused { erase(&state) }
            state.isPaused = isPaused
        }
    }

    /// Gives the terminal back as it was; what is drawn stays, unless it is taken away.
    func finish(keeping isKept: Bool) {
        state.withLock { state in
            guard !state.isOver else { return }
            if !isKept { erase(&state) }
            if !state.drawn.isEmpty { Output.write(file, Self.restored) }
            state.isOver = true
        }
    }

    private func erase(_ state: inout State) {
        guard !state.drawn.isEmpty else { return }
        Output.write(file, home(state) + "\u{1b}[J" + Self.restored)
        state.drawn = []
    }

    /// To the start of the first line; a window that became narrower has broken the lines anew.
    private func home(_ state: State) -> String {
        let width = max(1, size.columns)
        let rows = state.drawn.reduce(0) { $0 + max(1, ($1 + width - 1) / width) }
        return rows == 0 ? "\r" : "\u{1b}[\(rows)F"
    }
}
