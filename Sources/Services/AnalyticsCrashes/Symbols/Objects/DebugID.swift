import MartletCore

/// Identifies a build of a program or library: the UUID of a Mach-O, or the first 16 bytes of an ELF's build id in
/// Microsoft's byte order (https://getsentry.github.io/symbolicator/advanced/symbol-server-compatibility/#identifiers).
struct DebugID: Sendable, Hashable, CustomStringConvertible {
    /// 36 characters in lower case.
    let description: String

    /// Parses any form that clients write: with or without hyphens, in any case, optionally followed by an age.
    init?(_ text: String) {
        let digits = text.utf8.filter { $0 != UInt8(ascii: "-") }
        guard (32...40).contains(digits.count), text.utf8.count <= 46,
            digits.allSatisfy({ Character(Unicode.Scalar($0)).isHexDigit })
        else {
            return nil
        }
        self.init(digits: String(decoding: digits.prefix(32), as: UTF8.self).lowercased())
    }

    /// - Parameter uuid: The 16 bytes of the UUID.
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
