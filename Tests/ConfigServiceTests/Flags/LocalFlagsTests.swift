import Foundation
import MartletAPI
import MartletCore
import NIOCore
import Testing

@testable import ConfigService

@Suite struct LocalFlagsTests {
    @Test func `the answer for devices is made once, and again when an experiment has ended`() throws {
        func live(_ key: DocumentKey, _ kind: any PublishedKind, _ text: String) throws -> LiveDocument {
            LiveDocument(
                key: key, version: 1, sha256: "", published: Date(), content: [],
                compiled: try kind.compile(try JSONValue(parsing: text.utf8), named: key.name))
        }
        let end = Date(timeIntervalSince1970: 2_000_000_000)
        let space = LiveSpace(
            AppSpace(appID: "app1", environment: .live), generation: 1,
            live: [
                try live(
                    FlagsKind.key, FlagsKind(),
                    #"{"flags":{"dark":{"type":"boolean","default":false,"localEvaluation":true}}}"#),
                try live(
                    DocumentKey(.experiment, "dark"), ExperimentKind(),
                    #"{"title":"Dark","state":"running","unit":"device","end":"2033-05-18T03:33:20Z","#
                        + #""variations":[{"key":"control"},{"key":"b","flags":{"dark":true}}]}"#),
            ])
        func answer(at date: Date) -> StoredContent { space.derived { LocalFlags($0) }.answer(at: date) }
        let (first, second) = (answer(at: end - 2), answer(at: end - 1))
        #expect(String(buffer: first.bytes).contains(#"{"value":true,"variant":"b"}"#))
        // Both are in memory, so they have the same address only if they are the same bytes.
        #expect(Self.address(first) == Self.address(second))
        #expect(
            String(buffer: answer(at: end).bytes) == #"{"format":1,"version":1,"flags":{"dark":{"value":false,"#
                + #""variant":"off","reason":"STATIC","rules":[]}}}"#)
    }

    private static func address(_ content: StoredContent) -> UnsafeRawPointer? {
        content.bytes.withUnsafeReadableBytes { $0.baseAddress }
    }
}
