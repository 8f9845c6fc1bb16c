import Testing

/// The entry point of the test program, in place of the one that SwiftPM generates.
///
/// SwiftPM's entry point finds XCTest classes through the index store. This package has no XCTest classes, and its
/// builds write no index (`deploy/lib.sh`).
@main struct TestProgram {
    static func main() async {
        await Testing.__swiftPMEntryPoint() as Never
    }
}
