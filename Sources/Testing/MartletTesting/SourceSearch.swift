import Foundation

/// Searches the repository's files, for tests that compare lists with the source code.
///
/// Uses `grep`, because Swift's regular expressions take minutes for all sources in a debug build.
public struct SourceSearch {
    private let root: URL

    /// - Parameter file: A file in a test target, `Tests/<target>/<file>`.
    public init(of file: StaticString = #filePath) {
        root = URL(filePath: "\(file)").deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
    }

    /// All matches in Swift files below the folders, with the file's path from the root. Uses Perl syntax: `\s` also
    /// matches line breaks, `.` does not, and text before `\K` is not part of the match.
    public func matches(of pattern: String, in folders: [String]) throws -> [(file: String, text: String)] {
        let (process, output) = (Process(), Pipe())
        process.executableURL = URL(filePath: "/bin/grep")
        process.currentDirectoryURL = root
        process.arguments =
            [
                "--recursive", "--only-matching", "--perl-regexp", "--null-data", "--include=*.swift",
                "--with-filename", "--",
                pattern,
            ]
            + folders
        process.standardOutput = output
        try process.run()
        let matches = String(decoding: try output.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
        process.waitUntilExit()
        guard process.terminationStatus < 2 else { throw SearchFailed(status: process.terminationStatus) }
        return matches.split(separator: "\0").map { match in
            let parts = match.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            return (String(parts[0]), parts.count == 2 ? String(parts[1]) : "")
        }
    }

    public struct SearchFailed: Error {
        let status: Int32
    }
}
