import MartletCore

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
