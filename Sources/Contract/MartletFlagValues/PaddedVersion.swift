/// A version number as text that sorts as versions do: `v1.9.0-rc.1+build` comes before `1.10.0`, a pre-release before
/// its release.
///
/// GrowthBook's `paddedVersionString`: the parts between `.` and `-`, numbers padded to five digits. `~` follows three
/// parts without a pre-release.
package struct PaddedVersion: Sendable, Hashable {
    /// UTF-16 code units, because JavaScript compares by them.
    package let units: [UInt16]

    /// Anything but a number or a non-empty string counts as version 0.
    package init(_ value: FlagValue) {
        switch value {
        case .number, .string: self.init(value.text)
        default: self.init("0")
        }
    }

    package init(_ text: String) {
        var units: [UInt16] = []
        var parts = 0
        func add(_ part: some BidirectionalCollection<UInt16>) {
            if parts > 0 { units.append(Self.hyphen) }
            if !part.isEmpty, part.allSatisfy({ (0x30...0x39).contains($0) }) {
                units += Array(repeating: 0x20, count: max(0, 5 - part.count))
            }
            units += part
            parts += 1
        }
        let source = text.isEmpty ? "0" : text
        let core = source.utf16.prefix { $0 != Self.plus }.drop(while: Self.isLeadingV(in: source))
        for part in core.split(
            omittingEmptySubsequences: false, whereSeparator: { $0 == Self.dot || $0 == Self.hyphen })
        { add(part) }
        if parts == 3 { add("~".utf16) }
        self.units = units
    }

    package func isOrdered(_ comparison: Comparison, _ other: PaddedVersion) -> Bool {
        comparison.holds(units, other.units)
    }

    /// Strips one leading `v` only.
    private static func isLeadingV(in text: String) -> (UInt16) -> Bool {
        var isFirst = true
        return { unit in
            defer { isFirst = false }
            return isFirst && unit == UInt16(UInt8(ascii: "v"))
        }
    }

    private static let dot = UInt16(UInt8(ascii: "."))
    private static let hyphen = UInt16(UInt8(ascii: "-"))
    private static let plus = UInt16(UInt8(ascii: "+"))
}
