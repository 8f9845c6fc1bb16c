/// The options in a `Connection` header (RFC 9110 §7.6.1).
struct ConnectionOptions {
    var close = false
    var keepAlive = false
    var upgrade = false
    /// Lists other fields, which apply to this connection only.
    var others = false

    init(_ value: UnsafeRawBufferPointer) {
        // Fast path for the two most common values.
        if value.spells("keep-alive") {
            keepAlive = true
        } else if value.spells("close") {
            close = true
        } else {
            readList(value)
        }
    }

    private mutating func readList(_ value: UnsafeRawBufferPointer) {
        var (close, keepAlive, upgrade, others) = (false, false, false, false)
        value.forEachListElement { option in
            if option.spells("close") {
                close = true
            } else if option.spells("keep-alive") {
                keepAlive = true
            } else if option.spells("upgrade") {
                upgrade = true
            } else {
                others = true
            }
        }
        (self.close, self.keepAlive, self.upgrade, self.others) = (close, keepAlive, upgrade, others)
    }
}

extension [Field] {
    /// Whether a `Connection` header among the fields lists the field `name`.
    func connectionNames(_ name: UnsafeRawBufferPointer, in bytes: UnsafeRawBufferPointer) -> Bool {
        contains { field in
            guard field.meaning == .connection else { return false }
            var isNamed = false
            bytes[field.value].forEachListElement { option in
                isNamed = isNamed || option.isSameToken(as: name)
            }
            return isNamed
        }
    }
}

extension UnsafeRawBufferPointer {
    fileprivate func isSameToken(as other: UnsafeRawBufferPointer) -> Bool {
        count == other.count && zip(self, other).allSatisfy { Self.lowercased($0) == Self.lowercased($1) }
    }

    private static func lowercased(_ byte: UInt8) -> UInt8 { byte &- 0x41 < 26 ? byte | 0x20 : byte }
}
