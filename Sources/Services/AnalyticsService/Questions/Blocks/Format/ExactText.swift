/// Text that is the same when its bytes are, as to PostgreSQL. To Swift an `é` is the same as an `e` with an accent behind it.
struct ExactText: Sendable, Hashable {
    let text: String

    init(_ text: String) {
        self.text = text
    }

    static func == (one: ExactText, other: ExactText) -> Bool { one.text.utf8.elementsEqual(other.text.utf8) }

    func hash(into hasher: inout Hasher) {
        var text = text
        text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    }
}

/// Different texts in the order in which they come first.
struct ExactTexts: Sendable {
    private(set) var texts: [ExactText] = []
    private var numbers: [ExactText: UInt32] = [:]

    /// Its number, from 1 on; nil: there are `limit` others already.
    mutating func number(of text: String, limit: Int = .max) -> UInt32? {
        let text = ExactText(text)
        if let number = numbers[text] { return number }
        guard texts.count < limit else { return nil }
        texts.append(text)
        numbers[text] = UInt32(texts.count)
        return UInt32(texts.count)
    }
}
