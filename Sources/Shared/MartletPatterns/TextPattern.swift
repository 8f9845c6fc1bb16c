/// A regular expression that is matched in time linear in both pattern and text, so no pattern can stall the server.
///
/// Supports the part of ECMA-262 §22.2 that needs no backtracking: characters, classes, `\d \w \s`, `. ^ $ \b`, groups,
/// `|`, `* + ? {n,m}` and their lazy forms. Back references and look-around are not supported. Matching simulates all
/// threads at once (Thompson 1968; Cox, "Regular Expression Matching: the Virtual Machine Approach").
public struct TextPattern: Sendable {
    public static let maximumPatternLength = 512
    /// Longer texts never match, unless the pattern has a limit of its own.
    public static let maximumTextLength = 1_024
    /// The maximum product of a pattern's steps and a text's characters, unless the pattern has a limit of its own.
    public static let maximumWork = 100_000
    static let maximumSteps = 1_000

    enum Step: Sendable {
        case character(CharacterTest)
        case split(Int, Int)
        case jump(Int)
        case assert(Assertion)
        case match
    }

    enum Assertion: Sendable { case start, end, wordBoundary, noWordBoundary }

    private let steps: [Step]
    /// The longest text that can match, in characters; less than `maximumTextLength` for a pattern with many steps.
    public let textLimit: Int

    /// The size of the compiled pattern. Matching takes time in proportion to this and the length of the text.
    public var stepCount: Int { steps.count }

    /// - Throws: `TextPatternError`
    public init(
        _ pattern: String, ignoringCase: Bool = false, maximumTextLength: Int = Self.maximumTextLength,
        maximumWork: Int = Self.maximumWork
    ) throws(TextPatternError) {
        var parser = try TextPatternParser(pattern)
        var compiler = TextPatternCompiler(ignoresCase: ignoringCase)
        try compiler.add(try parser.parse())
        steps = compiler.steps + [.match]
        textLimit = min(maximumTextLength, maximumWork / steps.count)
    }

    /// Whether the pattern occurs anywhere in `text`.
    public func isFound(in text: String) -> Bool {
        let limit = textLimit
        let characters = Array(text.unicodeScalars.prefix(limit + 1))
        guard characters.count <= limit else { return false }
        var current = Threads(count: steps.count)
        var next = Threads(count: steps.count)
        for position in 0...characters.count {
            if add(0, to: &current, characters, position) { return true }
            guard position < characters.count else { break }
            for thread in current.list {
                guard case .character(let test) = steps[thread], test.matches(characters[position]) else { continue }
                if add(thread + 1, to: &next, characters, position + 1) { return true }
            }
            swap(&current, &next)
            next.clear()
        }
        return false
    }

    /// Follows the steps that consume no character. Returns true when the match is complete.
    private func add(_ start: Int, to threads: inout Threads, _ characters: [Unicode.Scalar], _ position: Int) -> Bool {
        var pending = [start]
        while let step = pending.popLast() {
            guard threads.insert(step) else { continue }
            switch steps[step] {
            case .match: return true
            case .jump(let target): pending.append(target)
            case .split(let first, let second): pending += [second, first]
            case .assert(let assertion): if assertion.holds(characters, position) { pending.append(step + 1) }
            case .character: break
            }
        }
        return false
    }
}

public struct TextPatternError: Error, Equatable {
    public let message: String
}

/// The current step of each thread, without duplicates.
private struct Threads {
    private(set) var list: [Int] = []
    private var isIn: [Bool]

    init(count: Int) { isIn = Array(repeating: false, count: count) }

    mutating func insert(_ step: Int) -> Bool {
        guard !isIn[step] else { return false }
        isIn[step] = true
        list.append(step)
        return true
    }

    mutating func clear() {
        for step in list { isIn[step] = false }
        list.removeAll(keepingCapacity: true)
    }
}

extension TextPattern.Assertion {
    fileprivate func holds(_ characters: [Unicode.Scalar], _ position: Int) -> Bool {
        func isWord(_ index: Int) -> Bool {
            characters.indices.contains(index) && CharacterTest.word.matches(characters[index])
        }
        return switch self {
        case .start: position == 0
        case .end: position == characters.count
        case .wordBoundary: isWord(position - 1) != isWord(position)
        case .noWordBoundary: isWord(position - 1) == isWord(position)
        }
    }
}

/// A set of characters.
struct CharacterTest: Sendable {
    var ranges: [ClosedRange<UInt32>]
    var isNegated = false
    var ignoresCase = false

    static let digit = CharacterTest(ranges: [0x30...0x39])
    static let word = CharacterTest(ranges: [0x30...0x39, 0x41...0x5a, 0x5f...0x5f, 0x61...0x7a])
    static let space = CharacterTest(ranges: [
        9...13, 32...32, 0xa0...0xa0, 0x1680...0x1680, 0x2000...0x200a, 0x2028...0x2029, 0x202f...0x202f,
        0x205f...0x205f, 0x3000...0x3000, 0xfeff...0xfeff,
    ])
    static let any = CharacterTest(ranges: [10...10, 13...13, 0x2028...0x2029], isNegated: true)

    static func one(_ scalar: Unicode.Scalar) -> CharacterTest { CharacterTest(ranges: [scalar.value...scalar.value]) }

    func matches(_ scalar: Unicode.Scalar) -> Bool {
        var isIn = contains(scalar.value)
        if !isIn, ignoresCase {
            isIn =
                Self.single(scalar.properties.lowercaseMapping).map(contains) ?? false
                || Self.single(scalar.properties.uppercaseMapping).map(contains) ?? false
        }
        return isIn != isNegated
    }

    /// The code points that are not in the set.
    var complement: [ClosedRange<UInt32>] {
        var rest: [ClosedRange<UInt32>] = []
        var start: UInt32 = 0
        for range in ranges.sorted(by: { $0.lowerBound < $1.lowerBound }) {
            if range.lowerBound > start { rest.append(start...range.lowerBound - 1) }
            start = max(start, range.upperBound + 1)
        }
        if start <= 0x10ffff { rest.append(start...0x10ffff) }
        return rest
    }

    private func contains(_ value: UInt32) -> Bool { ranges.contains { $0.contains(value) } }

    private static func single(_ mapping: String) -> UInt32? {
        let scalars = mapping.unicodeScalars
        return scalars.count == 1 ? scalars.first?.value : nil
    }
}
