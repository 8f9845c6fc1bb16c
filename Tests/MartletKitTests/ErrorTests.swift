import Foundation
import MartletAPI
import Testing

@testable import MartletKit

struct ErrorTests {
    @Test func `every code of the server has a name, and no other code has one`() throws {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        let file = root.deletingLastPathComponent().appendingPathComponent(
            "Sources/MartletKit/Errors/MartletError+Code.swift")
        let named = try String(contentsOf: file, encoding: .utf8).components(separatedBy: "= Self(\"").dropFirst()
            .compactMap { $0.components(separatedBy: "\"").first }.filter { !$0.hasPrefix("device-") }
        #expect(Set(named) == Set(ErrorCode.all.map(\.rawValue)))
        #expect(named.count == ErrorCode.all.count)
    }

    @Test func `headers have the names that the server knows`() {
        #expect(MartletHeader.secret == HeaderName.secret)
        #expect(MartletHeader.environment == HeaderName.environment)
        #expect(MartletHeader.deviceID == HeaderName.deviceID)
        #expect(MartletHeader.requestID == HeaderName.requestID)
    }
}
