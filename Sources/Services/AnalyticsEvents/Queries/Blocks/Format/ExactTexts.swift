import MartletCore

/// Assigns a number to each distinct text, in the order in which the texts are first seen.
struct ExactTexts: Sendable {
    private(set) var texts: [ExactText] = []
    private var numbers: [ExactText: UInt32] = [:]

    /// The number of a text, from 1; nil if it is new and there are `limit` texts already.
    mutating func number(of text: String, limit: Int = .max) -> UInt32? {
        let text = ExactText(text)
        if let number = numbers[text] { return number }
        guard texts.count < limit else { return nil }
        texts.append(text)
        numbers[text] = UInt32(texts.count)
        return UInt32(texts.count)
    }
}
