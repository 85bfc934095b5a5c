/**
 * The annotation in which the reference keeps an object's metadata on v1: merged over the object's own on read and then
 * dropped, written anew on write. The real labels and annotations are written as well, so nothing depends on it.
 */
import { z } from "zod";
import { ConversionError, kubectlName, type Subject } from "./conversion-error.ts";
import { type Fields, isFields } from "./fields.ts";
import type { ObjectMeta } from "./meta.ts";
import { V1_METADATA_ANNOTATION } from "./v1.ts";

const texts = z.record(z.string(), z.string()).nullish();
/** Only labels and annotations count; older releases also left `"creationTimestamp": null` there. */
const annotationSchema = z.looseObject({ labels: texts, annotations: texts });

/** Metadata as the model has it. @throws ConversionError where the annotation is not what the reference writes */
export function withoutAnnotation(metadata: Fields, subject: Subject): Fields {
  const { labels: ownLabels, annotations: ownAnnotations, ...rest } = metadata;
  if (!isFields(ownAnnotations) || !Object.hasOwn(ownAnnotations, V1_METADATA_ANNOTATION)) return metadata;
  const { [V1_METADATA_ANNOTATION]: text, ...others } = ownAnnotations;
  const kept = parse(text, subject);
  return {
    ...rest,
    ...unlessEmpty("labels", { ...(ownLabels as Fields | undefined), ...kept.labels }),
    ...unlessEmpty("annotations", { ...others, ...kept.annotations }),
  };
}

/**
 * Metadata as v1 has it. Of the labels the annotation repeats those of Calico's own, as the reference does for an
 * affinity; one that a user can take off the object would come back from there.
 */
export function withAnnotation(metadata: ObjectMeta): Fields {
  const labels = Object.entries(metadata.labels ?? {}).filter(([key]) => CALICO_LABEL.test(key));
  const text = JSON.stringify(unlessEmpty("labels", Object.fromEntries(labels.sort(([a], [b]) => (a < b ? -1 : 1)))));
  return { ...metadata, annotations: { ...metadata.annotations, [V1_METADATA_ANNOTATION]: text } };
}

const CALICO_LABEL = /projectcalico\.org\/|operator\.tigera\.io\//;

function parse(text: unknown, subject: Subject): z.infer<typeof annotationSchema> {
  try {
    const parsed: unknown = JSON.parse(String(text));
    // The schema drops a key named `__proto__`; what was parsed has it.
    annotationSchema.parse(parsed);
    return parsed as z.infer<typeof annotationSchema>;
  } catch {
    const advice = `It only repeats metadata: kubectl annotate ${kubectlName(subject)} ${V1_METADATA_ANNOTATION}-`;
    const field = `metadata.annotations["${V1_METADATA_ANNOTATION}"]`;
    throw new ConversionError(subject, field, "is not JSON metadata with labels and annotations of text", advice);
  }
}

const unlessEmpty = (name: string, fields: Fields): Fields =>
  Object.keys(fields).length > 0 ? { [name]: fields } : {};
