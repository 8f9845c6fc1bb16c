import Foundation

/// Function names without what differs between builds, specialisations and overloads of the same function.
public enum FunctionName {
    private static let maximumLength = 4_000

    private static let known = KnownNames(made)

    /// `Cart.add` of `specialized closure #1 in Cart.(add in _3B2A)<A>(A) -> ()`, with ` closure` behind it.
    public static func normalized(_ name: String) -> String { known[name] }

    @Sendable private static func made(_ name: String) -> String {
        let cut = name.cut(toBytes: maximumLength)
        var name = Substring(cut.has("(anonymous namespace)") ? cut.replacing("(anonymous namespace)", with: "(anonymous)") : cut).trimmed
        if let method = objectiveCMethod(name) { return method }
        let isClosure = takePrefixes(&name)
        var text = withoutGenerics(withoutDiscriminators(name))
        text = withoutParameters(text)
        text = withoutResult(text)
        text = withoutSuffixes(text)
        if text.has("0x") { text = text.replacing(#/0x[0-9a-fA-F]+/#, with: "<addr>") }
        return text + (isClosure ? " closure" : "")
    }

    /// `-[Foo bar:]` without a category's name, and blocks in it without their number.
    private static func objectiveCMethod(_ name: Substring) -> String? {
        guard name.has("-[") || name.has("+["), let start = beginning(of: name), let end = name.lastIndex(of: "]"), end > start.upperBound else {
            guard name.has("_block_invoke"), let block = name.firstMatch(of: #/^_*(?:\d+)?(.+?)_block_invoke(?:_?\d+)?$/#) else { return nil }
            return String(block.1) + " block"
        }
        let isBlock = name[end...].contains("_block_invoke")
        guard start.lowerBound == name.startIndex || isBlock else { return nil }
        let method = name[start.lowerBound...end]
        return String(method.has("(") ? method.replacing(#/\([^)]*\)/#, with: "") : method) + (isBlock ? " block" : "")
    }

    /// The first `-[` or `+[`.
    private static func beginning(of name: Substring) -> Range<Substring.Index>? {
        let bytes = name.utf8
        let start = zip(bytes.indices, bytes.indices.dropFirst()).first { sign, bracket in
            (bytes[sign] == UInt8(ascii: "-") || bytes[sign] == UInt8(ascii: "+")) && bytes[bracket] == UInt8(ascii: "[")
        }
        return start.map { $0.0..<bytes.index(after: $0.1) }
    }

    private static let prefixes = [
        "specialized ", "merged ", "partial apply for ", "partial apply forwarder for ", "@objc ", "@nonobjc ", "override ", "dynamic ", "distributed ",
        "protocol witness for ", "dispatch thunk of ", "vtable thunk for ", "reabstraction thunk helper from ", "reabstraction thunk helper for ",
        "async function pointer to ", "(extension in", "implicit closure #", "closure #", "generic specialization <", "function signature specialization <",
        "generic not re-abstracted specialization <",
    ]

    /// What the compiler puts in front of a Swift name; true: a closure in it was meant.
    private static func takePrefixes(_ name: inout Substring) -> Bool {
        var isClosure = false
        while true {
            if name.has("resume partial"), let partial = name.prefixMatch(of: #/\(\d+\) (?:await|suspend) resume partial function for /#) {
                name = name[partial.range.upperBound...]
                continue
            }
            guard let prefix = prefixes.first(where: { name.utf8.starts(with: $0.utf8) }) else { return isClosure }
            let rest: Substring?
            switch prefix {
            case "(extension in": rest = name.firstIndex(of: ":").map { name[name.index(after: $0)...] }
            case "implicit closure #", "closure #":
                isClosure = true
                rest = behind(" in ", of: name)
            case let prefix where prefix.hasSuffix("<"): rest = behind("> of ", of: name)
            default: rest = name.dropFirst(prefix.count)
            }
            guard let rest, !rest.isEmpty else { return isClosure }
            name = rest
        }
    }

    private static func behind(_ word: String, of name: Substring) -> Substring? {
        name.firstRange(of: word).map { name[$0.upperBound...] }
    }

    /// `(name in _3B2A…)` is `name`.
    private static func withoutDiscriminators(_ name: Substring) -> String {
        guard name.has(" in _") else { return String(name) }
        return String(name.replacing(#/\(([^()]*) in _[0-9A-Z]+\)/#) { $0.1 })
    }

    /// Drops `<…>` behind a name; operators and what begins with it stay.
    private static func withoutGenerics(_ name: String) -> String {
        guard name.utf8.contains(UInt8(ascii: "<")) else { return name }
        var kept: [UInt8] = []
        var depth = 0
        var previous: UInt8 = 0
        for byte in name.utf8 {
            defer { previous = byte }
            switch byte {
            case UInt8(ascii: "<") where depth > 0 || isNamePart(previous) && !ends(kept, with: "operator"): depth += 1
            // Not that of `->`.
            case UInt8(ascii: ">") where depth > 0 && previous != UInt8(ascii: "-"): depth -= 1
            default: if depth == 0 { kept.append(byte) }
            }
        }
        return depth == 0 ? String(decoding: kept, as: UTF8.self) : name
    }

    private static func isNamePart(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "_") || byte == UInt8(ascii: ")") || byte >= 0x80 || Character(Unicode.Scalar(byte)).isLetter || Character(Unicode.Scalar(byte)).isNumber
    }

    private static func ends(_ bytes: [UInt8], with word: String) -> Bool { bytes.suffix(word.utf8.count).elementsEqual(word.utf8) }

    /// To the first parenthesis that is one of parameters.
    private static func withoutParameters(_ name: String) -> String {
        var from = name.startIndex
        for special in ["(anonymous)", "operator()"] {
            if name.has(special), let range = name.range(of: special, options: .backwards) { from = max(from, range.upperBound) }
        }
        guard let parenthesis = name[from...].firstIndex(of: "("), parenthesis > name.startIndex else { return name }
        return String(name[..<parenthesis])
    }

    /// Without the type behind Swift's ` : ` and ` -> `, and C++'s in front.
    private static func withoutResult(_ name: String) -> String {
        var text = name[...]
        for mark in [" : ", " -> ", " throws", " async"] {
            if text.has(mark), let range = text.firstRange(of: mark) { text = text[..<range.lowerBound] }
        }
        if text.has("::"), !text.has("operator"), !text.hasPrefix("<"), let blank = text.lastIndex(of: " ") { text = text[text.index(after: blank)...] }
        return String(text.trimmed)
    }

    /// Looked for first: a regular expression takes a hundred times as long.
    private static let counted = [".cold", ".llvm", ".isra", ".part", ".constprop", ".resume", ".lto_priv", ".destroy", ".cleanup"]

    /// What compilers and run-times count: `.cold.1`, `::h0123456789abcdef`, `$lambda$3`, `+ 36`.
    private static func withoutSuffixes(_ name: String) -> String {
        var text = name.has(" + ") ? name.replacing(#/ \+ \d+$/#, with: "") : name
        if counted.contains(where: { text.has($0) }) { text = text.replacing(#/(?:\.(?:cold|llvm|isra|part|constprop|resume|lto_priv|destroy|cleanup)(?:\.\d+)*)+$/#, with: "") }
        if text.has("::h") { text = text.replacing(#/::h[0-9a-f]{16}$/#, with: "") }
        if text.hasPrefix("$s") || text.hasPrefix("_$s") { return text.replacing(#/^_|(?:To|TA|Tm|T[QY]\d_)+$/#, with: "") }
        if text.has("$") { text = text.replacing(#/\$+\d+(?:/\S+)?/#, with: "$") }
        return text
    }
}

extension StringProtocol {
    /// Whether it contains a word of ASCII: bytes compared, as there are thousands of names in a report.
    func has(_ word: String) -> Bool {
        var bytes = word
        return bytes.withUTF8 { word in utf8.withContiguousStorageIfAvailable { $0.has(word) } } ?? contains(word)
    }
}

extension UnsafeBufferPointer<UInt8> {
    fileprivate func has(_ word: UnsafeBufferPointer<UInt8>) -> Bool {
        guard let first = word.first, count >= word.count else { return word.isEmpty }
        for start in 0...count - word.count where self[start] == first {
            var length = 1
            while length < word.count, self[start + length] == word[length] { length += 1 }
            if length == word.count { return true }
        }
        return false
    }
}

extension Substring {
    var trimmed: Substring {
        guard let first = firstIndex(where: { !$0.isWhitespace }), let last = lastIndex(where: { !$0.isWhitespace }) else { return "" }
        return self[first...last]
    }
}
