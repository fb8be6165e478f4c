/// A regular expression whose time is bounded: the length of the text times the size of the program, never more.
///
/// Patterns come from the descriptors of third parties and texts from projects, so an engine that backtracks would let
/// either stop the host. The syntax is ECMAScript's with the flag `u`, less what needs backtracking (back-references,
/// lookaround) and less `\p{…}`. A pattern matches where any part of the text does, unless `^` and `$` bind it.
struct Pattern: Sendable {
    struct Failure: Error, Hashable {
        let reason: String
        /// In Unicode scalars.
        let offset: Int
    }

    enum Step: Sendable {
        case take(Scalars)
        case split(Int, Int)
        case jump(Int)
        case start, end
        case boundary(Bool)
        case match
    }

    /// Texts beyond this are refused unseen: about 20 ms at the largest program.
    static let longestInput = 16_384
    static let largestProgram = 1_000

    let source: String
    private let program: [Step]

    init(_ source: String) throws(Failure) {
        self.source = source
        var parser = PatternParser(source)
        var compiler = PatternCompiler()
        try compiler.add(try parser.parse())
        program = compiler.program + [.match]
    }

    /// Whether some part of the text matches.
    func matches(_ text: String) -> Bool {
        var run = PatternRun(count: program.count)
        var scalars = text.unicodeScalars.makeIterator()
        var previous: Unicode.Scalar?
        var current = scalars.next()
        while true {
            if run.add(0, in: program, between: previous, and: current) { return true }
            guard let scalar = current else { return false }
            let following = scalars.next()
            if run.advance(over: scalar, in: program, before: following) { return true }
            (previous, current) = (scalar, following)
        }
    }
}

/// The states that a pattern is in, all followed at once.
private struct PatternRun {
    /// Where each possible match waits for a scalar, each place once.
    private var places: [Int] = []
    private var isPlace: [Bool]
    private var pending: [Int] = []

    init(count: Int) {
        isPlace = Array(repeating: false, count: count)
        places.reserveCapacity(count)
        pending.reserveCapacity(count)
    }

    /// Follows `first` up to the steps that take a scalar; true: the end of the program was reached.
    mutating func add(
        _ first: Int, in program: [Pattern.Step], between previous: Unicode.Scalar?, and next: Unicode.Scalar?
    ) -> Bool {
        pending.append(first)
        while let place = pending.popLast() {
            if isPlace[place] { continue }
            isPlace[place] = true
            places.append(place)
            switch program[place] {
            case .take: break
            case .jump(let target): pending.append(target)
            case .split(let one, let other):
                pending.append(other)
                pending.append(one)
            case .start: if previous == nil { pending.append(place + 1) }
            case .end: if next == nil { pending.append(place + 1) }
            case .boundary(let isOne):
                if (Scalars.isWord(previous) != Scalars.isWord(next)) == isOne { pending.append(place + 1) }
            case .match:
                pending.removeAll(keepingCapacity: true)
                return true
            }
        }
        return false
    }

    mutating func advance(
        over scalar: Unicode.Scalar, in program: [Pattern.Step], before following: Unicode.Scalar?
    ) -> Bool {
        let waiting = places
        for place in places { isPlace[place] = false }
        places.removeAll(keepingCapacity: true)
        for place in waiting {
            if case .take(let set) = program[place], set.contains(scalar),
                add(place + 1, in: program, between: scalar, and: following)
            {
                return true
            }
        }
        return false
    }
}

/// Turns a parsed pattern into steps; counted repetitions are written out.
private struct PatternCompiler {
    var program: [Pattern.Step] = []
    /// Nested repetitions of nothing add no step, but take time.
    private var visits = 0

    mutating func add(_ node: PatternNode) throws(Pattern.Failure) {
        visits += 1
        guard visits <= 16 * Pattern.largestProgram else { throw tooLarge }
        switch node {
        case .step(let step): try append(step)
        case .sequence(let nodes):
            for node in nodes { try add(node) }
        case .choice(let nodes):
            var ends: [Int] = []
            for node in nodes.dropLast() {
                let split = program.count
                try append(.match)
                try add(node)
                ends.append(program.count)
                try append(.match)
                program[split] = .split(split + 1, program.count)
            }
            if let last = nodes.last { try add(last) }
            for end in ends { program[end] = .jump(program.count) }
        case .repetition(let node, let minimum, let maximum):
            for _ in 0..<minimum { try add(node) }
            guard let maximum else {
                let split = program.count
                try append(.match)
                try add(node)
                try append(.jump(split))
                program[split] = .split(split + 1, program.count)
                return
            }
            var splits: [Int] = []
            for _ in minimum..<maximum {
                splits.append(program.count)
                try append(.match)
                try add(node)
            }
            for split in splits { program[split] = .split(split + 1, program.count) }
        }
    }

    private mutating func append(_ step: Pattern.Step) throws(Pattern.Failure) {
        guard program.count < Pattern.largestProgram else { throw tooLarge }
        program.append(step)
    }

    private var tooLarge: Pattern.Failure {
        Pattern.Failure(reason: "takes more than \(Pattern.largestProgram) steps", offset: 0)
    }
}
