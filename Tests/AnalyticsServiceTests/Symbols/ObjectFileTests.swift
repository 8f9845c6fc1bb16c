import Foundation
import Testing

@testable import AnalyticsCrashes
@testable import AnalyticsService

@Suite struct ObjectFileTests {
    private func parts(_ bytes: [UInt8]) async throws -> [ObjectFile.Part] {
        try await ObjectFile.parts(of: ObjectSource(bytes))
    }

    @Test(.enabled(if: DebugFiles.isAvailable)) func `a real dSYM is recognized`() async throws {
        let bytes = try DebugFiles.real()
        let part = try #require(try await parts(bytes).first)
        #expect(part.debugID.description == DebugFiles.debugID)
        #expect(part.architecture == "x86_64" && part.kind == .dsym && part.hasDebugInformation)
        #expect(part.address == 0x1_0000_0000 && part.range == 0..<bytes.count)
    }

    @Test(.enabled(if: DebugFiles.isAvailable)) func `the parts of a fat file are found at their offsets`() async throws
    {
        let (first, second) = (try DebugFiles.real(), try DebugFiles.other())
        let found = try await parts(DebugFiles.fat([first, second]))
        #expect(found.map(\.architecture) == ["x86_64", "arm64"])
        #expect(found.map(\.debugID.description) == [DebugFiles.debugID, "11111111-1111-1111-1111-111111111111"])
        #expect(found.map(\.range.count) == [first.count, second.count])
        #expect(found[0].range.lowerBound == 4_096)
    }

    @Test(arguments: [true, false], [true, false]) func `headers of both sizes and byte orders are read`(
        is64Bit: Bool, isBigEndian: Bool
    ) async throws {
        func number(_ value: some FixedWidthInteger) -> [UInt8] {
            isBigEndian ? DebugFiles.big(value) : DebugFiles.little(value)
        }
        func word(_ value: UInt32) -> [UInt8] { number(value) }
        func long(_ value: UInt64) -> [UInt8] { is64Bit ? number(value) : number(UInt32(value)) }
        let uuid: [UInt8] = word(0x1b) + word(24) + Array(UInt8(0)..<16)
        func segment(_ name: String, address: UInt64, section: String) -> [UInt8] {
            let sections =
                DebugFiles.name(section) + DebugFiles.name(name) + [UInt8](repeating: 0, count: is64Bit ? 48 : 36)
            let places = [address, 0, 0, 0].flatMap(long)
            let rest = places + ([0, 0, 1, 0] as [UInt32]).flatMap(word) + sections
            return word(is64Bit ? 0x19 : 0x01) + word(UInt32(24 + rest.count)) + DebugFiles.name(name) + rest
        }
        let bytes = DebugFiles.machO(
            is64Bit: is64Bit, isBigEndian: isBigEndian, type: 10, cpu: is64Bit ? 0x0100_000c : 12,
            commands: [
                segment("__TEXT", address: 0x4000, section: "__text"), uuid,
                segment("__DWARF", address: 0, section: "__debug_info"),
            ])
        let part = try #require(try await parts(bytes).first)
        #expect(part.debugID.description == "00010203-0405-0607-0809-0a0b0c0d0e0f")
        #expect(
            part.architecture == (is64Bit ? "arm64" : "arm") && part.address == 0x4000 && part.hasDebugInformation
                && part.kind == .dsym)
    }

    /// The example of Sentry's documentation: the first three fields of the build id are byte-swapped.
    @Test func `an ELF is identified by its build id, in Sentry's notation`() async throws {
        let buildID: [UInt8] = [
            0x18, 0x0a, 0x37, 0x3d, 0x6a, 0xfb, 0xab, 0xf0, 0xeb, 0x1f, 0x09, 0xbe, 0x1b, 0xc4, 0x5b, 0xd7, 0x96, 0xa7,
            0x10, 0x85,
        ]
        let part = try #require(try await parts(DebugFiles.elf(buildID: buildID)).first)
        #expect(part.debugID.description == "3d370a18-fb6a-f0ab-eb1f-09be1bc45bd7")
        #expect(
            part.architecture == "arm64" && part.kind == .elf && part.hasDebugInformation && part.address == 0x1_0000)
    }

    private static let segmentOfNoEnd: [UInt8] =
        DebugFiles.little(UInt32(0x19)) + DebugFiles.little(UInt32(72)) + DebugFiles.name("__DWARF")
        + [UInt8](repeating: 0xff, count: 48)

    static let hostile: [(String, [UInt8])] = [
        ("nothing", []), ("three bytes", [0xcf, 0xfa, 0xed]), ("text", Array("#!/bin/sh\nexit 0\n".utf8)),
        ("a Java class", [0xca, 0xfe, 0xba, 0xbe, 0, 0, 0, 52] + [UInt8](repeating: 1, count: 100)),
        ("a fat file without parts", [0xca, 0xfe, 0xba, 0xbe, 0, 0, 0, 0]),
        ("a fat file whose part is outside", Array(DebugFiles.fat([[1, 2, 3]]).dropLast(3_000))),
        ("a fat file in a fat file", DebugFiles.fat([DebugFiles.fat([[1, 2, 3, 4]])])),
        ("commands of four gigabytes", [0xcf, 0xfa, 0xed, 0xfe] + [UInt8](repeating: 0xff, count: 60)),
        ("no UUID", DebugFiles.machO(is64Bit: true, isBigEndian: false, type: 10, cpu: 12, commands: [])),
        (
            "a command of no length",
            DebugFiles.machO(
                is64Bit: true, isBigEndian: false, type: 10, cpu: 12, commands: [[UInt8](repeating: 0, count: 8)])
        ),
        (
            "more sections than there is room",
            DebugFiles.machO(is64Bit: true, isBigEndian: false, type: 10, cpu: 12, commands: [segmentOfNoEnd])
        ),
        ("an ELF's beginning", [0x7f, 0x45, 0x4c, 0x46, 2, 1]),
        ("an ELF without a build id", DebugFiles.elf(buildID: [])),
    ]

    @Test(arguments: hostile) func `a file of another kind, or a damaged one, is refused with a reason`(
        _ name: String, _ bytes: [UInt8]
    ) async throws {
        await #expect(throws: ObjectFile.Refusal.self) { _ = try await parts(bytes) }
    }

    @Test func `random bytes are harmless, even after a valid beginning`() async throws {
        var generator = SeededGenerator(state: 42)
        let beginnings: [[UInt8]] = [
            [], [0xcf, 0xfa, 0xed, 0xfe], [0xfe, 0xed, 0xfa, 0xce], [0xca, 0xfe, 0xba, 0xbe, 0, 0, 0, 2],
            [0xca, 0xfe, 0xba, 0xbf, 0, 0, 0, 1],
            [0x7f, 0x45, 0x4c, 0x46, 2, 1], [0x7f, 0x45, 0x4c, 0x46, 1, 2],
        ]
        for round in 0..<20_000 {
            let beginning = beginnings[round % beginnings.count]
            let length = Int.random(in: 0...400, using: &generator)
            let bytes = beginning + (0..<length).map { _ in UInt8.random(in: 0...255, using: &generator) }
            _ = try? await parts(bytes)
        }
    }

    @Test func `a modified file is read or refused, and never read beyond its end`() async throws {
        var generator = SeededGenerator(state: 7)
        var samples = [DebugFiles.elf(buildID: [UInt8](repeating: 9, count: 20))]
        if DebugFiles.isAvailable { samples.append(Array(try DebugFiles.real().prefix(8_192))) }
        for sample in samples {
            for _ in 0..<10_000 {
                var bytes = sample
                for _ in 0..<Int.random(in: 1...6, using: &generator) {
                    bytes[Int.random(in: 0..<min(bytes.count, 2_048), using: &generator)] =
                        [0, 1, 0x7f, 0x80, 0xff, .random(in: 0...255, using: &generator)]
                        .randomElement(using: &generator) ?? 0
                }
                if Bool.random(using: &generator) {
                    bytes = Array(bytes.prefix(Int.random(in: 0...bytes.count, using: &generator)))
                }
                if let found = try? await parts(bytes) {
                    #expect(found.allSatisfy { $0.range.upperBound <= bytes.count })
                }
            }
        }
    }

    @Test(arguments: [
        ("67E9247C-814E-392B-A027-DBDE6748FCBF", DebugFiles.debugID),
        ("67e9247c814e392ba027dbde6748fcbf", DebugFiles.debugID),
        ("67E9247C814E392BA027DBDE6748FCBF0", DebugFiles.debugID),
        ("67e9247c-814e-392b-a027-dbde6748fcbf-1a", DebugFiles.debugID),
        ("", nil), ("67e9247c", nil), ("67e9247c-814e-392b-a027-dbde6748fcbg", nil),
        (String(repeating: "a", count: 41), nil),
        (String(repeating: "-", count: 40) + String(repeating: "a", count: 32), nil),
    ]) func `debug ids are recognized in every form`(_ text: String, _ expected: String?) {
        #expect(DebugID(text)?.description == expected)
    }
}
