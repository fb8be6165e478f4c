#include <stdint.h>
#include <unicode/uidna.h>

/* ICU's functions carry its version in their names, by macros that Swift does not see: hence these.
 *
 * The name in ASCII as the URL standard wants it, in UTF-16, or -1: https://url.spec.whatwg.org/#concept-domain-to-ascii
 * What ICU says besides of lengths, hyphens and empty labels is no error there. */
static inline int32_t apsule_domain_to_ascii(
    const uint16_t *name, int32_t length, uint16_t *ascii, int32_t room) {
    const uint32_t tolerated = UIDNA_ERROR_EMPTY_LABEL | UIDNA_ERROR_LABEL_TOO_LONG | UIDNA_ERROR_DOMAIN_NAME_TOO_LONG |
                               UIDNA_ERROR_LEADING_HYPHEN | UIDNA_ERROR_TRAILING_HYPHEN | UIDNA_ERROR_HYPHEN_3_4;
    UErrorCode status = U_ZERO_ERROR;
    UIDNA *idna = uidna_openUTS46(
        UIDNA_CHECK_BIDI | UIDNA_CHECK_CONTEXTJ | UIDNA_NONTRANSITIONAL_TO_ASCII | UIDNA_NONTRANSITIONAL_TO_UNICODE,
        &status);
    if (U_FAILURE(status)) return -1;
    UIDNAInfo info = UIDNA_INFO_INITIALIZER;
    int32_t count = uidna_nameToASCII(idna, (const UChar *)name, length, (UChar *)ascii, room, &info, &status);
    uidna_close(idna);
    return U_FAILURE(status) || count > room || (info.errors & ~tolerated) != 0 ? -1 : count;
}
