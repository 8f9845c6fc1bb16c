import Testing

@testable import AnalyticsEvents
@testable import AnalyticsService

@Suite struct RepairedTextTests {
    static let cases: [(String, String)] = [
        (#"{"a":"x\u0000y"}"#, #"{"a":"x\ufffdy"}"#), (#""\ud83d""#, #""\ufffd""#),
        (#""\ud83d\ude00""#, #""\ud83d\ude00""#),
        (#""\ude00\ud83d""#, #""\ufffd\ufffd""#), (#""\ud83d\ud83d\ude00""#, #""\ufffd\ud83d\ude00""#),
        (#""\\u0000""#, #""\\u0000""#),
        (#""\\\u0000""#, #""\\\ufffd""#), (#""\u00e9\n""#, #""\u00e9\n""#), ("\\", "\\"), (#"\u00"#, #"\u00"#),
        ("", ""),
    ]

    @Test(arguments: cases)
    func `only what JSON text must not contain is replaced`(_ text: String, _ expected: String) {
        #expect(String(decoding: RepairedText.bytes(of: Array(text.utf8)), as: UTF8.self) == expected)
    }

    @Test func `bytes that are not UTF-8 are replaced`() {
        #expect(String(decoding: RepairedText.bytes(of: [0x22, 0xc3, 0x22]), as: UTF8.self) == "\"\u{fffd}\"")
    }
}
