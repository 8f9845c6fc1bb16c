import MartletCore

/// Which build of a program or library something belongs to: the UUID of a Mach-O; of an ELF the first 16 bytes of its build id as Microsoft
/// would write them (https://getsentry.github.io/symbolicator/advanced/symbol-server-compatibility/#identifiers).
struct DebugID: Sendable, Hashable, CustomStringConvertible {
    /// 36 lower-case characters.
    let description: String

    /// In any of the forms that clients write: with hyphens or without, in any case, with an age behind it.
    init?(_ text: String) {
        let digits = text.utf8.filter { $0 != UInt8(ascii: "-") }
        guard (32...40).contains(digits.count), text.utf8.count <= 46, digits.allSatisfy({ Character(Unicode.Scalar($0)).isHexDigit }) else {
            return nil
        }
        self.init(digits: String(decoding: digits.prefix(32), as: UTF8.self).lowercased())
    }

    /// - Parameter uuid: 16 bytes.
    init(uuid: some Sequence<UInt8>) {
        self.init(digits: Hexadecimal.text(uuid))
    }

    private init(digits: String) {
        var text = ""
        for (index, digit) in digits.enumerated() {
            if [8, 12, 16, 20].contains(index) { text += "-" }
            text.append(digit)
        }
        description = text
    }
}
