/// The syntax tree of a pattern, before it is compiled into steps.
indirect enum TextPatternNode {
    case character(CharacterTest)
    case assertion(TextPattern.Assertion)
    case sequence([TextPatternNode])
    case either([TextPatternNode])
    /// Greedy and lazy are equivalent, because only the existence of a match counts.
    case repeated(TextPatternNode, minimum: Int, maximum: Int?)
}

/// Parses the text of a pattern.
struct TextPatternParser {
    private static let maximumDepth = 32
    private static let maximumRepeats = 255

    private let scalars: [Unicode.Scalar]
    private var position = 0
    private var depth = 0

    init(_ pattern: String) throws(TextPatternError) {
        scalars = Array(pattern.unicodeScalars.prefix(TextPattern.maximumPatternLength + 1))
        guard scalars.count <= TextPattern.maximumPatternLength else {
            throw TextPatternError(
                message: "A pattern may have at most \(TextPattern.maximumPatternLength) characters.")
        }
    }

    mutating func parse() throws(TextPatternError) -> TextPatternNode {
        let node = try parseEither()
        guard position == scalars.count else { throw TextPatternError(message: "There is a ) without a (.") }
        return node
    }

    private var next: Unicode.Scalar? { position < scalars.count ? scalars[position] : nil }

    private mutating func take(_ scalar: Unicode.Scalar) -> Bool {
        guard next == scalar else { return false }
        position += 1
        return true
    }

    private mutating func parseEither() throws(TextPatternError) -> TextPatternNode {
        depth += 1
        defer { depth -= 1 }
        guard depth <= Self.maximumDepth else { throw TextPatternError(message: "Groups are nested too deeply.") }
        var branches = [try parseSequence()]
        while take("|") { branches.append(try parseSequence()) }
        return branches.count == 1 ? branches[0] : .either(branches)
    }

    private mutating func parseSequence() throws(TextPatternError) -> TextPatternNode {
        var nodes: [TextPatternNode] = []
        while let scalar = next, scalar != "|", scalar != ")" {
            position += 1
            nodes.append(try parseRepeat(of: try parseAtom(scalar)))
        }
        return .sequence(nodes)
    }

    private mutating func parseAtom(_ scalar: Unicode.Scalar) throws(TextPatternError) -> TextPatternNode {
        switch scalar {
        case "^": return .assertion(.start)
        case "$": return .assertion(.end)
        case ".": return .character(.any)
        case "(": return try parseGroup()
        case "[": return .character(try parseClass())
        case "\\": return try parseEscape()
        case "*", "+", "?": throw TextPatternError(message: "There is nothing to repeat before \(scalar).")
        default: return .character(.one(scalar))
        }
    }

    private mutating func parseGroup() throws(TextPatternError) -> TextPatternNode {
        if take("?") {
            if take("<"), let name = next, name != "=", name != "!" {
                while let scalar = next, scalar != ">" { position += 1 }
                guard take(">") else { throw TextPatternError(message: "A group name is not closed with >.") }
            } else if !take(":") {
                throw TextPatternError(message: "Look-ahead and look-behind are not supported.")
            }
        }
        let node = try parseEither()
        guard take(")") else { throw TextPatternError(message: "There is a ( without a ).") }
        return node
    }

    private mutating func parseRepeat(of node: TextPatternNode) throws(TextPatternError) -> TextPatternNode {
        let bounds: (Int, Int?)
        if take("*") {
            bounds = (0, nil)
        } else if take("+") {
            bounds = (1, nil)
        } else if take("?") {
            bounds = (0, 1)
        } else if let counts = parseCounts() {
            bounds = counts
        } else {
            return node
        }
        _ = take("?")
        guard bounds.0 <= bounds.1 ?? .max, max(bounds.0, bounds.1 ?? 0) <= Self.maximumRepeats else {
            throw TextPatternError(message: "A repeat count is out of order or greater than \(Self.maximumRepeats).")
        }
        return .repeated(node, minimum: bounds.0, maximum: bounds.1)
    }

    /// Parses `{n}`, `{n,}` or `{n,m}`; any other `{` is a literal character.
    private mutating func parseCounts() -> (Int, Int?)? {
        let start = position
        guard take("{"), let minimum = parseNumber() else {
            position = start
            return nil
        }
        let hasComma = take(",")
        let maximum = hasComma ? parseNumber() : minimum
        guard take("}") else {
            position = start
            return nil
        }
        return (minimum, maximum)
    }

    private mutating func parseNumber() -> Int? {
        var digits = ""
        while let scalar = next, ("0"..."9").contains(scalar), digits.count < 6 {
            digits.unicodeScalars.append(scalar)
            position += 1
        }
        return Int(digits)
    }

    private mutating func parseEscape() throws(TextPatternError) -> TextPatternNode {
        if take("b") { return .assertion(.wordBoundary) }
        if take("B") { return .assertion(.noWordBoundary) }
        return .character(try parseEscapedCharacter())
    }

    private mutating func parseEscapedCharacter() throws(TextPatternError) -> CharacterTest {
        guard let scalar = next else { throw TextPatternError(message: "The pattern ends with a single \\.") }
        position += 1
        switch scalar {
        case "d": return .digit
        case "D": return CharacterTest(ranges: CharacterTest.digit.complement)
        case "w": return .word
        case "W": return CharacterTest(ranges: CharacterTest.word.complement)
        case "s": return .space
        case "S": return CharacterTest(ranges: CharacterTest.space.complement)
        case "n": return .one("\n")
        case "r": return .one("\r")
        case "t": return .one("\t")
        case "v": return .one("\u{0b}")
        case "f": return .one("\u{0c}")
        case "0": return .one("\0")
        case "x": return .one(try parseHexadecimal(2))
        case "u": return .one(try parseHexadecimal(4))
        case "1"..."9", "k": throw TextPatternError(message: "Back references are not supported.")
        case "a"..."z", "A"..."Z": throw TextPatternError(message: "The escape \\\(scalar) is unknown.")
        default: return .one(scalar)
        }
    }

    private mutating func parseHexadecimal(_ count: Int) throws(TextPatternError) -> Unicode.Scalar {
        let digits = scalars[position...].prefix(count)
        position += digits.count
        var text = ""
        text.unicodeScalars.append(contentsOf: digits)
        guard digits.count == count, let value = UInt32(text, radix: 16), let scalar = Unicode.Scalar(value) else {
            throw TextPatternError(message: "Expected \(count) hexadecimal digits.")
        }
        return scalar
    }

    private mutating func parseClass() throws(TextPatternError) -> CharacterTest {
        var test = CharacterTest(ranges: [])
        test.isNegated = take("^")
        while let scalar = next, scalar != "]" {
            position += 1
            let first = try parseClassAtom(scalar)
            guard next == "-", position + 1 < scalars.count, scalars[position + 1] != "]", let low = first.single else {
                test.ranges += first.ranges
                continue
            }
            position += 2
            guard let high = try parseClassAtom(scalars[position - 1]).single, low <= high else {
                throw TextPatternError(message: "A character range is out of order.")
            }
            test.ranges.append(low...high)
        }
        guard take("]") else { throw TextPatternError(message: "There is a [ without a ].") }
        return test
    }

    private mutating func parseClassAtom(_ scalar: Unicode.Scalar) throws(TextPatternError) -> CharacterTest {
        guard scalar == "\\" else { return .one(scalar) }
        if take("b") { return .one("\u{08}") }
        return try parseEscapedCharacter()
    }
}

extension CharacterTest {
    fileprivate var single: UInt32? {
        ranges.count == 1 && ranges[0].count == 1 ? ranges[0].lowerBound : nil
    }
}

/// Compiles a syntax tree into steps.
struct TextPatternCompiler {
    let ignoresCase: Bool
    private(set) var steps: [TextPattern.Step] = []
    /// Nodes visited so far. An empty group adds no step however often it is repeated, so steps alone do not limit the
    /// work.
    private var visits = 0
    private static let maximumVisits = 20_000

    init(ignoresCase: Bool) { self.ignoresCase = ignoresCase }

    mutating func add(_ node: TextPatternNode) throws(TextPatternError) {
        visits += 1
        guard steps.count < TextPattern.maximumSteps, visits <= Self.maximumVisits else {
            throw TextPatternError(message: "The pattern is too large once its repeat counts are expanded.")
        }
        switch node {
        case .character(var test):
            test.ignoresCase = ignoresCase
            steps.append(.character(test))
        case .assertion(let assertion): steps.append(.assert(assertion))
        case .sequence(let nodes): for node in nodes { try add(node) }
        case .either(let nodes): try addEither(nodes)
        case .repeated(let node, let minimum, let maximum): try addRepeated(node, minimum, maximum)
        }
    }

    private mutating func addEither(_ nodes: [TextPatternNode]) throws(TextPatternError) {
        var ends: [Int] = []
        for node in nodes.dropLast() {
            let split = steps.count
            steps.append(.jump(0))
            try add(node)
            ends.append(steps.count)
            steps.append(.jump(0))
            steps[split] = .split(split + 1, steps.count)
        }
        if let last = nodes.last { try add(last) }
        for end in ends { steps[end] = .jump(steps.count) }
    }

    private mutating func addRepeated(_ node: TextPatternNode, _ minimum: Int, _ maximum: Int?) throws(TextPatternError)
    {
        for _ in 0..<minimum { try add(node) }
        guard let maximum else {
            let split = steps.count
            steps.append(.jump(0))
            try add(node)
            steps.append(.jump(split))
            steps[split] = .split(split + 1, steps.count)
            return
        }
        var splits: [Int] = []
        for _ in minimum..<maximum {
            splits.append(steps.count)
            steps.append(.jump(0))
            try add(node)
        }
        for split in splits { steps[split] = .split(split + 1, steps.count) }
    }
}
