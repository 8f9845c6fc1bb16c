/// Protects text that a spreadsheet would interpret as a formula by adding a leading `'`. Text that already starts with
/// `'` gets another one.
public enum FormulaGuard {
    public static func isNeeded(for text: String) -> Bool {
        switch text.utf8.first {
        case UInt8(ascii: "="), UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "@"), UInt8(ascii: "\t"),
            UInt8(ascii: "\r"),
            UInt8(ascii: "'"):
            true
        default: false
        }
    }

    public static func added(to text: String) -> String { isNeeded(for: text) ? "'" + text : text }

    public static func removed(from text: String) -> String {
        text.hasPrefix("'") && isNeeded(for: String(text.dropFirst())) ? String(text.dropFirst()) : text
    }
}
