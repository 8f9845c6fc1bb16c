import Foundation

/// Normalizes function names, removing what differs between builds, specializations and overloads of the same function.
public enum FunctionName {
    /// In bytes; the rest of a name is ignored.
    static let maximumLength = 400

    private static let cache = NameCache(normalize)

    /// For example, `Cart.add closure` for `specialized closure #1 in Cart.(add in _3B2A)<A>(A) -> ()`.
    public static func normalized(_ name: String) -> String { cache[name] }

    @Sendable private static func normalize(_ name: String) -> String {
        let cut = name.cut(toBytes: maximumLength)
        var name = Substring(
            cut.has("(anonymous namespace)") ? cut.replacing("(anonymous namespace)", with: "(anonymous)") : cut
        ).trimmed
        if let method = objectiveCMethod(name) { return method }
        let isClosure = takePrefixes(&name)
        var text = withoutGenerics(withoutDiscriminators(name))
        text = withoutParameters(text)
        text = withoutResult(text)
        text = withoutSuffixes(text)
        if text.has("0x") { text = NameBytes.withoutAddresses(text, "<addr>") }
        return text + (isClosure ? " closure" : "")
    }

    /// `-[Foo bar:]` without the category's name; blocks in it lose their number.
    private static func objectiveCMethod(_ name: Substring) -> String? {
        guard name.has("-[") || name.has("+["), let start = beginning(of: name), let end = name.lastIndex(of: "]"),
            end > start.upperBound
        else {
            return blockOfFunction(name)
        }
        let isBlock = String(name[end...]).has(blockMark)
        guard start.lowerBound == name.startIndex || isBlock else { return nil }
        let method = name[start.lowerBound...end]
        return withoutParentheses(method) + (isBlock ? " block" : "")
    }

    private static let blockMark = "_block_invoke"

    /// For example, `main block` for `__main_block_invoke_2`: drops leading underscores and digits, and the last block
    /// mark with its number.
    private static func blockOfFunction(_ name: Substring) -> String? {
        guard name.has(blockMark) else { return nil }
        let bytes = Array(name.utf8)
        var end = bytes.count - NameBytes.count(atEndOf: bytes, while: NameBytes.isDigit)
        if end < bytes.count, end > 0, bytes[end - 1] == UInt8(ascii: "_") { end -= 1 }
        guard bytes[..<end].suffix(blockMark.utf8.count).elementsEqual(blockMark.utf8) else { return nil }
        let front = bytes[..<(end - blockMark.utf8.count)]
        let name = front.drop { $0 == UInt8(ascii: "_") }.drop(while: NameBytes.isDigit)
        // A name is never empty: if there are only underscores and digits, the last one is the name.
        let kept = name.isEmpty ? front.suffix(1) : name
        return kept.isEmpty ? nil : String(decoding: kept, as: UTF8.self) + " block"
    }

    /// Removes text in parentheses, from each opening one to the next closing one.
    private static func withoutParentheses(_ method: Substring) -> String {
        guard method.has("(") else { return String(method) }
        var kept: [UInt8] = []
        var rest = Array(method.utf8)[...]
        while let open = rest.firstIndex(of: UInt8(ascii: "(")),
            let close = rest[open...].firstIndex(of: UInt8(ascii: ")"))
        {
            kept += rest[..<open]
            rest = rest[(close + 1)...]
        }
        return String(decoding: kept + rest, as: UTF8.self)
    }

    /// The first `-[` or `+[`.
    private static func beginning(of name: Substring) -> Range<Substring.Index>? {
        let bytes = name.utf8
        let start = zip(bytes.indices, bytes.indices.dropFirst()).first { sign, bracket in
            (bytes[sign] == UInt8(ascii: "-") || bytes[sign] == UInt8(ascii: "+"))
                && bytes[bracket] == UInt8(ascii: "[")
        }
        return start.map { $0.0..<bytes.index(after: $0.1) }
    }

    private static let prefixes = [
        "specialized ", "merged ", "partial apply for ", "partial apply forwarder for ", "@objc ", "@nonobjc ",
        "override ", "dynamic ", "distributed ",
        "protocol witness for ", "dispatch thunk of ", "vtable thunk for ", "reabstraction thunk helper from ",
        "reabstraction thunk helper for ",
        "async function pointer to ", "(extension in", "implicit closure #", "closure #", "generic specialization <",
        "function signature specialization <",
        "generic not re-abstracted specialization <",
    ]

    /// Removes the prefixes that the compiler adds to Swift names. Returns whether the name is that of a closure.
    private static func takePrefixes(_ name: inout Substring) -> Bool {
        var isClosure = false
        while true {
            if let rest = afterResumption(name) {
                name = rest
                continue
            }
            guard let prefix = prefixes.first(where: { name.utf8.starts(with: $0.utf8) }) else { return isClosure }
            let rest: Substring?
            switch prefix {
            case "(extension in": rest = name.firstIndex(of: ":").map { name[name.index(after: $0)...] }
            case "implicit closure #", "closure #":
                isClosure = true
                rest = textAfter(" in ", of: name)
            case let prefix where prefix.hasSuffix("<"): rest = textAfter("> of ", of: name)
            default: rest = name[name.utf8.index(name.startIndex, offsetBy: prefix.utf8.count)...]
            }
            guard let rest, !rest.isEmpty else { return isClosure }
            name = rest
        }
    }

    /// The name after `(1) await resume partial function for `; nil if it does not begin with such a prefix.
    private static func afterResumption(_ name: Substring) -> Substring? {
        guard name.utf8.first == UInt8(ascii: "("), name.has("resume partial") else { return nil }
        let digits = name.utf8.dropFirst().prefix(while: NameBytes.isDigit)
        guard !digits.isEmpty else { return nil }
        let rest = name[digits.endIndex...]
        return [") await resume partial function for ", ") suspend resume partial function for "].first {
            rest.utf8.starts(with: $0.utf8)
        }
        .map { rest[rest.utf8.index(rest.startIndex, offsetBy: $0.utf8.count)...] }
    }

    private static func textAfter(_ word: String, of name: Substring) -> Substring? {
        name.firstRange(of: word).map { name[$0.upperBound...] }
    }

    /// Replaces `(name in _3B2A…)` with `name`.
    private static func withoutDiscriminators(_ name: Substring) -> String {
        guard name.has(" in _") else { return String(name) }
        var kept: [UInt8] = []
        // The index of the last parenthesis while it is open.
        var open: Int?
        for byte in name.utf8 {
            kept.append(byte)
            switch byte {
            case UInt8(ascii: "("): open = kept.count - 1
            case UInt8(ascii: ")"):
                if let start = open, let name = discriminated(kept[(start + 1)..<(kept.count - 1)]) {
                    kept.replaceSubrange(start..., with: Array(name))
                }
                open = nil
            default: break
            }
        }
        return String(decoding: kept, as: UTF8.self)
    }

    /// The part before ` in _3B2A`; nil if the bytes do not end with such a suffix.
    private static func discriminated(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
        let digits = NameBytes.count(atEndOf: bytes) { NameBytes.isDigit($0) || (0x41...0x5a).contains($0) }
        let front = bytes.dropLast(digits)
        return digits > 0 && ends(front, with: " in _") ? front.dropLast(5) : nil
    }

    /// Removes `<…>` after a name. Operators, and names that begin with `<`, stay.
    private static func withoutGenerics(_ name: String) -> String {
        guard name.utf8.contains(UInt8(ascii: "<")) else { return name }
        var kept: [UInt8] = []
        var depth = 0
        var previous: UInt8 = 0
        for byte in name.utf8 {
            defer { previous = byte }
            switch byte {
            case UInt8(ascii: "<") where depth > 0 || isNamePart(previous) && !ends(kept, with: "operator"): depth += 1
            // Except the one in `->`.
            case UInt8(ascii: ">") where depth > 0 && previous != UInt8(ascii: "-"): depth -= 1
            default: if depth == 0 { kept.append(byte) }
            }
        }
        return depth == 0 ? String(decoding: kept, as: UTF8.self) : name
    }

    private static func isNamePart(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "_") || byte == UInt8(ascii: ")") || byte >= 0x80
            || Character(Unicode.Scalar(byte)).isLetter || Character(Unicode.Scalar(byte)).isNumber
    }

    private static func ends(_ bytes: some BidirectionalCollection<UInt8>, with word: String) -> Bool {
        bytes.suffix(word.utf8.count).elementsEqual(word.utf8)
    }

    /// Removes everything from the parenthesis that begins the parameters.
    private static func withoutParameters(_ name: String) -> String {
        var from = name.startIndex
        for special in ["(anonymous)", "operator()"] {
            if name.has(special), let range = name.range(of: special, options: .backwards) {
                from = max(from, range.upperBound)
            }
        }
        guard let parenthesis = name[from...].firstIndex(of: "("), parenthesis > name.startIndex else { return name }
        return String(name[..<parenthesis])
    }

    /// Removes the type after Swift's ` : ` and ` -> `, and the one before a C++ name.
    private static func withoutResult(_ name: String) -> String {
        var text = name[...]
        for mark in [" : ", " -> ", " throws", " async"] {
            if text.has(mark), let range = text.firstRange(of: mark) { text = text[..<range.lowerBound] }
        }
        if text.has("::"), !text.has("operator"), !text.hasPrefix("<"), let blank = text.lastIndex(of: " ") {
            text = text[text.index(after: blank)...]
        }
        return String(text.trimmed)
    }

    /// Suffixes added by compilers, which may be followed by numbers.
    private static let compilerSuffixes: Set<String> = [
        "cold", "llvm", "isra", "part", "constprop", "resume", "lto_priv", "destroy", "cleanup",
    ]

    /// Removes suffixes with counters, such as `.cold.1`, `::h0123456789abcdef`, `$lambda$3` and `+ 36`.
    private static func withoutSuffixes(_ name: String) -> String {
        var text = withoutOffset(name)
        text = withoutCompilerSuffixes(text)
        if isHash(text.utf8.suffix(19)) { text = String(text.utf8.dropLast(19)) ?? text }
        if text.hasPrefix("$s") || text.hasPrefix("_$s") { return withoutThunks(text) }
        return text.has("$") ? NameBytes.withoutCounts(text, afterSlash: true) : text
    }

    /// Removes a trailing ` + 36`.
    private static func withoutOffset(_ name: String) -> String {
        let digits = NameBytes.count(atEndOf: name.utf8, while: NameBytes.isDigit)
        let front = name.utf8.dropLast(digits)
        return digits > 0 && ends(front, with: " + ") ? String(decoding: front.dropLast(3), as: UTF8.self) : name
    }

    /// Removes known suffixes with their numbers, such as `.isra.0.cold.2`.
    private static func withoutCompilerSuffixes(_ name: String) -> String {
        var kept: Substring?
        var rest = name[...]
        while let dot = rest.utf8.lastIndex(of: UInt8(ascii: ".")) {
            let part = rest[rest.utf8.index(after: dot)...]
            rest = rest[..<dot]
            if compilerSuffixes.contains(String(part)) {
                kept = rest
            } else if part.isEmpty || !part.utf8.allSatisfy(NameBytes.isDigit) {
                break
            }
        }
        return kept.map(String.init) ?? name
    }

    /// Rust's suffix: `::h` and 16 digits.
    private static func isHash(_ end: Substring.UTF8View) -> Bool {
        end.count == 19 && end.starts(with: "::h".utf8) && end.dropFirst(3).allSatisfy(NameBytes.isLowerHexDigit)
    }

    /// Removes the suffixes of thunks and of the parts of asynchronous functions from a mangled Swift name: `To`, `TA`,
    /// `Tm`, `TQ1_`, `TY0_`.
    private static func withoutThunks(_ name: String) -> String {
        var bytes = Array(name.utf8)[...]
        if bytes.first == UInt8(ascii: "_") { bytes.removeFirst() }
        while true {
            let end = bytes.suffix(4)
            if ["To", "TA", "Tm"].contains(where: { ends(bytes, with: $0) }) {
                bytes.removeLast(2)
            } else if end.count == 4, end.starts(with: "TQ".utf8) || end.starts(with: "TY".utf8),
                NameBytes.isDigit(end[end.startIndex + 2]), end.last == UInt8(ascii: "_")
            {
                bytes.removeLast(4)
            } else {
                return String(decoding: bytes, as: UTF8.self)
            }
        }
    }
}

extension StringProtocol {
    /// Whether it contains an ASCII word. Compares bytes, because a report has thousands of names.
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
        guard let first = firstIndex(where: { !$0.isWhitespace }), let last = lastIndex(where: { !$0.isWhitespace })
        else { return "" }
        return self[first...last]
    }
}
