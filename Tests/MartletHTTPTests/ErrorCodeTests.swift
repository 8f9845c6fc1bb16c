import Foundation
import MartletAPI
import Testing

@Suite struct ErrorCodeTests {
    @Test func `codes are unique, in lower case with hyphens, and have an error status`() {
        #expect(Set(ErrorCode.all.map(\.rawValue)).count == ErrorCode.all.count)
        for code in ErrorCode.all {
            #expect(code.rawValue.wholeMatch(of: /[a-z]+(-[a-z]+)*/) != nil, "\(code.rawValue)")
            #expect((400..<600).contains(code.status))
            #expect(!code.title.isEmpty && code.title.last != ".")
        }
    }

    @Test func `every code that the contract declares is registered`() throws {
        let source = try Self.text("Sources/Contract/MartletAPI/ErrorCode.swift")
        let declared = source.matches(of: /static let \w+ = ErrorCode\(\s*"([^"]+)"/).map { String($0.1) }
        #expect(declared.count > 20)
        #expect(Set(declared) == Set(ErrorCode.all.map(\.rawValue)))
    }

    @Test func `docs/ERRORS.md explains every code, with its status, and no other`() throws {
        let page = try Self.text("docs/ERRORS.md")
        let rows = page.matches(of: /(?m)^\|\s*`([a-z-]+)`\s*\|\s*(\d{3})\s*\|/).map { "\($0.1) \($0.2)" }
        #expect(Set(rows).count == rows.count)
        #expect(Set(rows) == Set(ErrorCode.all.map { "\($0.rawValue) \($0.status)" }))
    }

    private static func text(_ path: String) throws -> String {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        return try String(contentsOf: root.appending(path: path), encoding: .utf8)
    }
}
